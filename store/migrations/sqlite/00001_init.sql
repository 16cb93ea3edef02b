-- +goose Up
CREATE TABLE apps (
    id         text PRIMARY KEY,
    name       text        NOT NULL,
    plan       text        NOT NULL,
    tenants    text        NOT NULL DEFAULT '[]',
    contact    text        NOT NULL DEFAULT '',
    created_at datetime NOT NULL
);

CREATE TABLE client_secrets (
    id         text PRIMARY KEY,
    app_id     text        NOT NULL REFERENCES apps (id),
    hash       blob       NOT NULL,
    cipher     blob       NOT NULL,
    created_at datetime NOT NULL,
    expires_at datetime
);
CREATE INDEX client_secrets_app ON client_secrets (app_id);

CREATE TABLE signing_keys (
    id         text PRIMARY KEY,
    purpose    text        NOT NULL,
    private    blob       NOT NULL,
    public     blob       NOT NULL,
    created_at datetime NOT NULL,
    retired_at datetime
);

CREATE UNIQUE INDEX signing_keys_live ON signing_keys (purpose) WHERE retired_at IS NULL;

CREATE TABLE usage (
    app_id       text    NOT NULL REFERENCES apps (id),
    period_start date    NOT NULL,
    envelopes    integer NOT NULL,
    PRIMARY KEY (app_id, period_start)
);

CREATE TABLE envelopes (
    id                text PRIMARY KEY,
    app_id            text        NOT NULL REFERENCES apps (id),
    tenant_id         text        NOT NULL,
    status            text        NOT NULL,
    subject           text,
    created_by        text        NOT NULL,
    message           text,
    expires_in_days   integer,
    expires_at        datetime,
    hash_original     text,
    hash_final        text,
    first_document_id text        NOT NULL,
    field_origin      text        NOT NULL DEFAULT 'top-left',
    created_at        datetime NOT NULL,
    sent_at           datetime,
    completed_at      datetime,
    voided_at         datetime,
    audit_seq         integer      NOT NULL,
    audit_head        text        NOT NULL,
    version           integer      NOT NULL
);
-- Ids are UUIDv7, so their order is the order of creation.
CREATE INDEX envelopes_list ON envelopes (app_id, tenant_id, id DESC);
CREATE INDEX envelopes_list_status ON envelopes (app_id, tenant_id, status, id DESC);

CREATE TABLE signers (
    id              text PRIMARY KEY,
    envelope_id     text    NOT NULL REFERENCES envelopes (id),
    position        integer NOT NULL,
    name            text    NOT NULL,
    email           text    NOT NULL,
    phone           text,
    routing_order   integer NOT NULL,
    status          text    NOT NULL,
    auth_method     text    NOT NULL,
    link_id         text,
    link_issued_at  datetime,
    link_expires_at datetime,
    otp_hash        blob,
    otp_expires_at  datetime,
    otp_failures    integer NOT NULL DEFAULT 0,
    otp_wrong       integer NOT NULL DEFAULT 0,
    otp_requests    text,
    otp_verified_at datetime,
    viewed_at       datetime,
    consent_at      datetime,
    consent_version text    NOT NULL DEFAULT '',
    signed_at       datetime,
    declined_at     datetime,
    ip              text    NOT NULL DEFAULT '',
    user_agent      text    NOT NULL DEFAULT '',
    page_views      integer NOT NULL DEFAULT 0,
    last_viewed     text    NOT NULL DEFAULT ''
);
CREATE INDEX signers_envelope ON signers (envelope_id, position);

CREATE TABLE documents (
    id              text PRIMARY KEY,
    envelope_id     text        NOT NULL REFERENCES envelopes (id),
    kind            text        NOT NULL,
    original_id     text,
    name            text        NOT NULL,
    mime_type       text        NOT NULL,
    sha256          text        NOT NULL,
    size            integer      NOT NULL,
    page_count      integer     NOT NULL,
    pages           text,
    document_order  integer     NOT NULL,
    blob_key        text        NOT NULL,
    retention_until datetime,
    purge_status    text        NOT NULL,
    created_at      datetime NOT NULL,
    UNIQUE (envelope_id, kind, document_order)
);

CREATE TABLE fields (
    id          text PRIMARY KEY,
    envelope_id text             NOT NULL REFERENCES envelopes (id),
    document_id text             NOT NULL,
    signer_id   text             NOT NULL REFERENCES signers (id),
    position    integer          NOT NULL,
    type        text             NOT NULL,
    page        integer          NOT NULL,
    x           real NOT NULL,
    y           real NOT NULL,
    w           real NOT NULL,
    h           real NOT NULL,
    required    boolean          NOT NULL,
    origin      text             NOT NULL
);
CREATE INDEX fields_envelope ON fields (envelope_id, position);

CREATE TABLE field_values (
    field_id    text PRIMARY KEY REFERENCES fields (id),
    envelope_id text        NOT NULL,
    signer_id   text        NOT NULL,
    text        text        NOT NULL,
    image       blob,
    created_at  datetime NOT NULL
);
CREATE INDEX field_values_envelope ON field_values (envelope_id);

CREATE TABLE saved_signatures (
    app_id     text        NOT NULL REFERENCES apps (id),
    email      text        NOT NULL,
    image      blob       NOT NULL,
    font_label text,
    updated_at datetime NOT NULL,
    PRIMARY KEY (app_id, email)
);

CREATE TABLE audit_events (
    id          text PRIMARY KEY,
    envelope_id text        NOT NULL REFERENCES envelopes (id),
    seq         integer      NOT NULL,
    name        text        NOT NULL,
    timestamp   datetime NOT NULL,
    actor       text        NOT NULL,
    ip          text,
    user_agent  text,
    detail      text,
    prev_hash   text        NOT NULL,
    hash        text        NOT NULL,
    UNIQUE (envelope_id, seq)
);

-- +goose StatementBegin
CREATE TRIGGER audit_events_no_update BEFORE UPDATE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
-- +goose StatementEnd

CREATE TABLE webhooks (
    id         text PRIMARY KEY,
    app_id     text        NOT NULL REFERENCES apps (id),
    url        text        NOT NULL,
    events     text        NOT NULL,
    secret     blob,
    active     boolean     NOT NULL,
    created_at datetime NOT NULL
);
CREATE INDEX webhooks_app ON webhooks (app_id);

CREATE TABLE webhook_events (
    id          text PRIMARY KEY,
    app_id      text        NOT NULL,
    envelope_id text        NOT NULL,
    name        text        NOT NULL,
    body        blob       NOT NULL,
    created_at  datetime NOT NULL
);
CREATE INDEX webhook_events_envelope ON webhook_events (envelope_id);

CREATE TABLE webhook_deliveries (
    id           text PRIMARY KEY,
    app_id       text        NOT NULL,
    webhook_id   text        NOT NULL,
    event_id     text        NOT NULL REFERENCES webhook_events (id),
    envelope_id  text        NOT NULL,
    event        text        NOT NULL,
    status       text        NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0,
    created_at   datetime NOT NULL,
    delivered_at datetime,
    failed_at    datetime
);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (app_id, id DESC);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (app_id, status, id DESC);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, status);

CREATE TABLE delivery_attempts (
    id          text PRIMARY KEY,
    delivery_id text        NOT NULL REFERENCES webhook_deliveries (id),
    number      integer     NOT NULL,
    at          datetime NOT NULL,
    status      integer     NOT NULL,
    latency_ms  integer      NOT NULL,
    error       text        NOT NULL,
    body        blob
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id, number);

CREATE TABLE outbox (
    seq        integer PRIMARY KEY AUTOINCREMENT,
    id         text        NOT NULL,
    key        text        NOT NULL,
    kind       text        NOT NULL,
    refs       text        NOT NULL,
    attempts   integer     NOT NULL DEFAULT 0,
    not_before datetime NOT NULL,
    created_at datetime NOT NULL
);
CREATE INDEX outbox_key ON outbox (key, seq);
CREATE INDEX outbox_due ON outbox (not_before, seq);

CREATE TABLE mails (
    id          text PRIMARY KEY,
    envelope_id text        NOT NULL,
    signer_id   text        NOT NULL,
    kind        text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    created_at  datetime NOT NULL,
    sent_at     datetime,
    failed_at   datetime,
    error       text        NOT NULL DEFAULT ''
);
CREATE INDEX mails_envelope ON mails (envelope_id);

-- +goose Down
DROP TABLE mails;
DROP TABLE outbox;
DROP TABLE delivery_attempts;
DROP TABLE webhook_deliveries;
DROP TABLE webhook_events;
DROP TABLE webhooks;
DROP TABLE audit_events;
DROP TABLE saved_signatures;
DROP TABLE field_values;
DROP TABLE fields;
DROP TABLE documents;
DROP TABLE signers;
DROP TABLE envelopes;
DROP TABLE usage;
DROP TABLE signing_keys;
DROP TABLE client_secrets;
DROP TABLE apps;
