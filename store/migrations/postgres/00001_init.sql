-- +goose Up
CREATE TABLE apps (
    id         uuid PRIMARY KEY,
    name       text        NOT NULL,
    plan       text        NOT NULL,
    tenants    text        NOT NULL DEFAULT '[]',
    contact    text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL
);

CREATE TABLE client_secrets (
    id         uuid PRIMARY KEY,
    app_id     uuid        NOT NULL REFERENCES apps (id),
    hash       bytea       NOT NULL,
    cipher     bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);
CREATE INDEX client_secrets_app ON client_secrets (app_id);

CREATE TABLE signing_keys (
    id         text PRIMARY KEY,
    purpose    text        NOT NULL,
    private    bytea       NOT NULL,
    public     bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    retired_at timestamptz
);

CREATE UNIQUE INDEX signing_keys_live ON signing_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE usage (
    app_id       uuid    NOT NULL REFERENCES apps (id),
    period_start date    NOT NULL,
    envelopes    integer NOT NULL,
    PRIMARY KEY (app_id, period_start)
);

CREATE TABLE envelopes (
    id                uuid PRIMARY KEY,
    app_id            uuid        NOT NULL REFERENCES apps (id),
    tenant_id         text        NOT NULL,
    status            text        NOT NULL,
    subject           text,
    created_by        text        NOT NULL,
    message           text,
    expires_in_days   integer,
    expires_at        timestamptz,
    hash_original     text,
    hash_final        text,
    first_document_id uuid        NOT NULL,
    field_origin      text        NOT NULL DEFAULT 'top-left',
    created_at        timestamptz NOT NULL,
    sent_at           timestamptz,
    completed_at      timestamptz,
    voided_at         timestamptz,
    audit_seq         bigint      NOT NULL,
    audit_head        text        NOT NULL,
    version           bigint      NOT NULL
);
-- Ids are UUIDv7, so their order is the order of creation.
CREATE INDEX envelopes_list ON envelopes (app_id, tenant_id, id DESC);
CREATE INDEX envelopes_list_status ON envelopes (app_id, tenant_id, status, id DESC);

CREATE TABLE signers (
    id              uuid PRIMARY KEY,
    envelope_id     uuid    NOT NULL REFERENCES envelopes (id),
    position        integer NOT NULL,
    name            text    NOT NULL,
    email           text    NOT NULL,
    phone           text,
    routing_order   integer NOT NULL,
    status          text    NOT NULL,
    auth_method     text    NOT NULL,
    link_id         uuid,
    link_issued_at  timestamptz,
    link_expires_at timestamptz,
    otp_hash        bytea,
    otp_expires_at  timestamptz,
    otp_failures    integer NOT NULL DEFAULT 0,
    otp_wrong       integer NOT NULL DEFAULT 0,
    otp_requests    text,
    otp_verified_at timestamptz,
    viewed_at       timestamptz,
    consent_at      timestamptz,
    consent_version text    NOT NULL DEFAULT '',
    signed_at       timestamptz,
    declined_at     timestamptz,
    ip              text    NOT NULL DEFAULT '',
    user_agent      text    NOT NULL DEFAULT '',
    page_views      integer NOT NULL DEFAULT 0,
    last_viewed     text    NOT NULL DEFAULT ''
);
CREATE INDEX signers_envelope ON signers (envelope_id, position);

CREATE TABLE documents (
    id              uuid PRIMARY KEY,
    envelope_id     uuid        NOT NULL REFERENCES envelopes (id),
    kind            text        NOT NULL,
    original_id     uuid,
    name            text        NOT NULL,
    mime_type       text        NOT NULL,
    sha256          text        NOT NULL,
    size            bigint      NOT NULL,
    page_count      integer     NOT NULL,
    pages           text,
    document_order  integer     NOT NULL,
    blob_key        text        NOT NULL,
    retention_until timestamptz,
    purge_status    text        NOT NULL,
    created_at      timestamptz NOT NULL,
    UNIQUE (envelope_id, kind, document_order)
);

CREATE TABLE fields (
    id          uuid PRIMARY KEY,
    envelope_id uuid             NOT NULL REFERENCES envelopes (id),
    document_id uuid             NOT NULL,
    signer_id   uuid             NOT NULL REFERENCES signers (id),
    position    integer          NOT NULL,
    type        text             NOT NULL,
    page        integer          NOT NULL,
    x           double precision NOT NULL,
    y           double precision NOT NULL,
    w           double precision NOT NULL,
    h           double precision NOT NULL,
    required    boolean          NOT NULL,
    origin      text             NOT NULL
);
CREATE INDEX fields_envelope ON fields (envelope_id, position);

CREATE TABLE field_values (
    field_id    uuid PRIMARY KEY REFERENCES fields (id),
    envelope_id uuid        NOT NULL,
    signer_id   uuid        NOT NULL,
    text        text        NOT NULL,
    image       bytea,
    created_at  timestamptz NOT NULL
);
CREATE INDEX field_values_envelope ON field_values (envelope_id);

CREATE TABLE saved_signatures (
    app_id     uuid        NOT NULL REFERENCES apps (id),
    email      text        NOT NULL,
    image      bytea       NOT NULL,
    font_label text,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, email)
);

CREATE TABLE audit_events (
    id          uuid PRIMARY KEY,
    envelope_id uuid        NOT NULL REFERENCES envelopes (id),
    seq         bigint      NOT NULL,
    name        text        NOT NULL,
    timestamp   timestamptz NOT NULL,
    actor       text        NOT NULL,
    ip          text,
    user_agent  text,
    detail      text,
    prev_hash   text        NOT NULL,
    hash        text        NOT NULL,
    UNIQUE (envelope_id, seq)
);

-- +goose StatementBegin
CREATE FUNCTION audit_events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_events_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_append_only();

CREATE TABLE webhooks (
    id         uuid PRIMARY KEY,
    app_id     uuid        NOT NULL REFERENCES apps (id),
    url        text        NOT NULL,
    events     text        NOT NULL,
    secret     bytea,
    active     boolean     NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX webhooks_app ON webhooks (app_id);

CREATE TABLE webhook_events (
    id          uuid PRIMARY KEY,
    app_id      uuid        NOT NULL,
    envelope_id uuid        NOT NULL,
    name        text        NOT NULL,
    body        bytea       NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX webhook_events_envelope ON webhook_events (envelope_id);

CREATE TABLE webhook_deliveries (
    id           uuid PRIMARY KEY,
    app_id       uuid        NOT NULL,
    webhook_id   uuid        NOT NULL,
    event_id     uuid        NOT NULL REFERENCES webhook_events (id),
    envelope_id  uuid        NOT NULL,
    event        text        NOT NULL,
    status       text        NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    delivered_at timestamptz,
    failed_at    timestamptz
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (app_id, id DESC);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (app_id, status, id DESC);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, status);

CREATE TABLE delivery_attempts (
    id          uuid PRIMARY KEY,
    delivery_id uuid        NOT NULL REFERENCES webhook_deliveries (id),
    number      integer     NOT NULL,
    at          timestamptz NOT NULL,
    status      integer     NOT NULL,
    latency_ms  bigint      NOT NULL,
    error       text        NOT NULL,
    body        bytea
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id, number);

CREATE TABLE outbox (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         uuid        NOT NULL,
    key        uuid        NOT NULL,
    kind       text        NOT NULL,
    refs       text        NOT NULL,
    attempts   integer     NOT NULL DEFAULT 0,
    not_before timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE INDEX outbox_key ON outbox (key, seq);
CREATE INDEX outbox_due ON outbox (not_before, seq);

CREATE TABLE mails (
    id          text PRIMARY KEY,
    envelope_id uuid        NOT NULL,
    signer_id   uuid        NOT NULL,
    kind        text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    sent_at     timestamptz,
    failed_at   timestamptz,
    error       text        NOT NULL DEFAULT ''
);
CREATE INDEX mails_envelope ON mails (envelope_id);

-- +goose Down
DROP TABLE mails, outbox, delivery_attempts, webhook_deliveries, webhook_events, webhooks, audit_events, saved_signatures,
    field_values, fields, documents, signers, envelopes, usage, signing_keys, client_secrets, apps;
DROP FUNCTION audit_events_append_only;
