-- +goose Up
CREATE TABLE apps (
    id         text PRIMARY KEY,
    client_id  text        NOT NULL, -- what it logs in with; records name the app by its id instead
    name       text        NOT NULL,
    plan       text        NOT NULL,
    tenants    text        NOT NULL DEFAULT '[]',
    contact    text        NOT NULL DEFAULT '', -- encrypted
    created_at datetime    NOT NULL
);
CREATE UNIQUE INDEX apps_client_id ON apps (client_id);

CREATE TABLE client_secrets (
    id         text PRIMARY KEY,
    app_id     text        NOT NULL REFERENCES apps (id),
    hash       blob        NOT NULL,
    cipher     blob        NOT NULL,
    created_at datetime    NOT NULL,
    expires_at datetime
);
CREATE INDEX client_secrets_app ON client_secrets (app_id);

CREATE TABLE signing_keys (
    id         text PRIMARY KEY,
    purpose    text        NOT NULL,
    private    blob        NOT NULL,
    public     blob        NOT NULL,
    created_at datetime    NOT NULL,
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
    id                 text PRIMARY KEY,
    app_id             text        NOT NULL REFERENCES apps (id),
    tenant_id          text        NOT NULL,
    status             text        NOT NULL,
    subject            text,
    created_by         text        NOT NULL,
    message            text,
    expires_in_days    integer,
    expires_at         datetime,
    hash_original      text,
    hash_final         text,
    first_document_id  text        NOT NULL,
    field_origin       text        NOT NULL DEFAULT 'top-left',
    created_at         datetime    NOT NULL,
    sent_at            datetime,
    completed_at       datetime,
    voided_at          datetime,
    sealing_problem    text,
    sealing_problem_at datetime,
    audit_seq          integer     NOT NULL,
    audit_head         text        NOT NULL,
    version            integer     NOT NULL
);
-- Ids are UUIDv7, so their order is the order of creation.
CREATE INDEX envelopes_list ON envelopes (app_id, tenant_id, id DESC);
CREATE INDEX envelopes_list_status ON envelopes (app_id, tenant_id, status, id DESC);
-- The console lists all tenants of an app, also by the day of creation.
CREATE INDEX envelopes_app ON envelopes (app_id, id DESC);
CREATE INDEX envelopes_app_status ON envelopes (app_id, status, id DESC);
CREATE INDEX envelopes_created ON envelopes (app_id, created_at);
CREATE INDEX envelopes_unsealed ON envelopes (id) WHERE sealing_problem IS NOT NULL;

CREATE TABLE signers (
    id              text PRIMARY KEY,
    envelope_id     text    NOT NULL REFERENCES envelopes (id),
    position        integer NOT NULL,
    name            text    NOT NULL,
    email           text    NOT NULL, -- encrypted
    phone           text, -- encrypted
    mailbox         integer NOT NULL, -- position of the first signer of the envelope with the same address
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
    session_hash    blob,
    confirmed_by    blob, -- the client that confirmed the code
    viewed_at       datetime,
    consent_at      datetime,
    consent_version text    NOT NULL DEFAULT '',
    signed_at       datetime,
    declined_at     datetime,
    values_hash     text    NOT NULL DEFAULT '',
    shown           text    NOT NULL DEFAULT '', -- of the others' values
    shown_signers   text,
    shown_confirmed boolean NOT NULL DEFAULT false,
    ip              text    NOT NULL DEFAULT '',
    user_agent      text    NOT NULL DEFAULT '',
    page_views      integer NOT NULL DEFAULT 0,
    last_viewed     text    NOT NULL DEFAULT '',
    downloads       text -- when the signer last fetched which sealed document: repeated downloads are one audit event
);
CREATE INDEX signers_envelope ON signers (envelope_id, position);
-- A short link names the signer's link by its id.
CREATE INDEX signers_link ON signers (link_id) WHERE link_id IS NOT NULL;

CREATE TABLE documents (
    id                text PRIMARY KEY,
    envelope_id       text        NOT NULL REFERENCES envelopes (id),
    kind              text        NOT NULL,
    original_id       text,
    name              text        NOT NULL,
    mime_type         text        NOT NULL,
    sha256            text        NOT NULL,
    size              integer     NOT NULL,
    page_count        integer     NOT NULL,
    pages             text,
    document_order    integer     NOT NULL,
    blob_key          text        NOT NULL,
    encrypted         boolean     NOT NULL DEFAULT false, -- as a file: it is never read as plain text then
    retention_until   datetime,
    purge_status      text        NOT NULL,
    timestamped_until datetime, -- until when the last document time-stamp can be verified
    timestamp_pending boolean     NOT NULL DEFAULT false, -- the time-stamp authority did not answer
    seal_facts        text        NOT NULL DEFAULT '', -- what the examination found out for sealing; empty: found out again
    created_at        datetime    NOT NULL,
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
    x           real             NOT NULL,
    y           real             NOT NULL,
    w           real             NOT NULL,
    h           real             NOT NULL,
    required    boolean          NOT NULL,
    origin      text             NOT NULL
);
CREATE INDEX fields_envelope ON fields (envelope_id, position);

CREATE TABLE field_values (
    field_id     text PRIMARY KEY REFERENCES fields (id),
    envelope_id  text        NOT NULL,
    signer_id    text        NOT NULL,
    text         text        NOT NULL, -- this and the next two: encrypted
    image        blob,
    image_sha256 text        NOT NULL DEFAULT '', -- names the picture where it is not loaded
    created_at   datetime    NOT NULL
);
CREATE INDEX field_values_envelope ON field_values (envelope_id);

-- What a person last signed with, in one tenant and by one way to prove who they are; email_key is a keyed hash of all three.
CREATE TABLE saved_signatures (
    app_id      text        NOT NULL REFERENCES apps (id),
    tenant_id   text        NOT NULL DEFAULT '',
    auth_method text        NOT NULL DEFAULT '',
    email_key   text        NOT NULL,
    email       text        NOT NULL DEFAULT '', -- this and the next two: encrypted
    image       blob        NOT NULL,
    font_label  text,
    updated_at  datetime    NOT NULL,
    PRIMARY KEY (app_id, email_key)
);

CREATE TABLE audit_events (
    id          text PRIMARY KEY,
    envelope_id text        NOT NULL REFERENCES envelopes (id),
    seq         integer     NOT NULL,
    name        text        NOT NULL,
    timestamp   datetime    NOT NULL,
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
    id              text PRIMARY KEY,
    app_id          text        NOT NULL REFERENCES apps (id),
    url             text        NOT NULL,
    events          text        NOT NULL,
    secret          blob,
    previous_secret blob, -- signs beside the other one until previous_until
    previous_until  datetime,
    active          boolean     NOT NULL,
    failing_since   datetime,
    last_error      text        NOT NULL DEFAULT '',
    disabled_at     datetime,
    disabled_reason text        NOT NULL DEFAULT '',
    created_at      datetime    NOT NULL
);
CREATE INDEX webhooks_app ON webhooks (app_id);

CREATE TABLE webhook_events (
    id          text PRIMARY KEY,
    app_id      text        NOT NULL,
    envelope_id text        NOT NULL,
    name        text        NOT NULL,
    body        blob        NOT NULL, -- encrypted
    created_at  datetime    NOT NULL
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
    run          integer     NOT NULL DEFAULT 0, -- how often it was sent again
    run_attempts integer     NOT NULL DEFAULT 0, -- attempts since it was sent again, or ever
    created_at   datetime    NOT NULL,
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
    at          datetime    NOT NULL,
    status      integer     NOT NULL,
    latency_ms  integer     NOT NULL,
    error       text        NOT NULL,
    body        blob -- encrypted
);
CREATE INDEX delivery_attempts_delivery ON delivery_attempts (delivery_id, number);

CREATE TABLE outbox (
    seq        integer PRIMARY KEY AUTOINCREMENT,
    id         text        NOT NULL,
    key        text        NOT NULL,
    kind       text        NOT NULL,
    refs       text        NOT NULL,
    lane       text        NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- the endpoint of a delivery, the app of everything else
    attempts   integer     NOT NULL DEFAULT 0,
    not_before datetime    NOT NULL,
    created_at datetime    NOT NULL
);
CREATE INDEX outbox_key ON outbox (key, seq);
-- Lanes take turns, so that none waits for another's backlog.
CREATE INDEX outbox_lane ON outbox (lane, seq);

CREATE TABLE mails (
    id          text PRIMARY KEY,
    envelope_id text        NOT NULL,
    signer_id   text        NOT NULL,
    kind        text        NOT NULL,
    attempts    integer     NOT NULL DEFAULT 0,
    created_at  datetime    NOT NULL,
    sent_at     datetime,
    failed_at   datetime,
    error       text        NOT NULL DEFAULT ''
);
CREATE INDEX mails_envelope ON mails (envelope_id);
CREATE INDEX mails_failed ON mails (envelope_id) WHERE failed_at IS NOT NULL;

CREATE TABLE console_users (
    id            text PRIMARY KEY,
    app_id        text        NOT NULL REFERENCES apps (id),
    email         text        NOT NULL, -- encrypted
    email_key     text        NOT NULL UNIQUE, -- a keyed hash of it
    name          text        NOT NULL,
    password_hash blob        NOT NULL,
    role          text        NOT NULL,
    created_at    datetime    NOT NULL,
    disabled_at   datetime
);
CREATE INDEX console_users_app ON console_users (app_id, id);

CREATE TABLE contacts (
    id         text PRIMARY KEY,
    app_id     text        NOT NULL REFERENCES apps (id),
    name       text        NOT NULL, -- name, address and number are encrypted
    email      text        NOT NULL,
    email_key  text        NOT NULL, -- a keyed hash of the address
    phone      text,
    created_at datetime    NOT NULL,
    UNIQUE (app_id, email_key)
);
-- An app's contacts are read in this order and searched outside the database.
CREATE INDEX contacts_app ON contacts (app_id, id);

CREATE TABLE embedded_sessions (
    id             text PRIMARY KEY,
    app_id         text        NOT NULL REFERENCES apps (id),
    tenant_id      text        NOT NULL,
    envelope_id    text        NOT NULL REFERENCES envelopes (id),
    signer_id      text        NOT NULL REFERENCES signers (id),
    token_hash     blob        NOT NULL UNIQUE,
    allowed_origin text        NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    created_at     datetime    NOT NULL,
    expires_at     datetime    NOT NULL,
    revoked_at     datetime
);
CREATE INDEX embedded_sessions_expiry ON embedded_sessions (expires_at);

-- tenant_id '' holds the app's own defaults, for all of its tenants.
CREATE TABLE tenant_settings (
    app_id                  text        NOT NULL REFERENCES apps (id),
    tenant_id               text        NOT NULL,
    default_expiry_days     integer,
    reminder_interval_hours integer,
    retention_days          integer,
    field_origin            text,
    sender_name             text,
    language                text,
    reply_to                text, -- encrypted
    notify_email            text, -- encrypted
    updated_at              datetime    NOT NULL,
    PRIMARY KEY (app_id, tenant_id)
);

CREATE TABLE idempotency_keys (
    id          text PRIMARY KEY,
    scope       text        NOT NULL,
    method      text        NOT NULL,
    path        text        NOT NULL,
    key         text        NOT NULL,
    fingerprint blob        NOT NULL,
    committed   boolean     NOT NULL,
    status      integer     NOT NULL,
    header      text        NOT NULL,
    body        blob,
    created_at  datetime    NOT NULL,
    expires_at  datetime    NOT NULL,
    UNIQUE (scope, method, path, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Requests counted in windows, for all processes together.
CREATE TABLE rate_windows (
    key        text        NOT NULL,
    starts_at  datetime    NOT NULL,
    used       integer     NOT NULL,
    expires_at datetime    NOT NULL,
    PRIMARY KEY (key, starts_at)
);
CREATE INDEX rate_windows_expiry ON rate_windows (expires_at);

-- How many envelopes there are of each status: what was folded, and the changes since. Changes are only
-- inserted, so that envelopes of one tenant do not wait for each other.
CREATE TABLE envelope_counts (
    app_id    text   NOT NULL,
    tenant_id text   NOT NULL,
    status    text   NOT NULL,
    n         integer NOT NULL,
    PRIMARY KEY (app_id, tenant_id, status)
);
CREATE TABLE envelope_count_changes (
    seq       integer PRIMARY KEY AUTOINCREMENT,
    app_id    text    NOT NULL,
    tenant_id text    NOT NULL,
    status    text    NOT NULL,
    change    integer NOT NULL
);
CREATE INDEX envelope_count_changes_of ON envelope_count_changes (app_id, tenant_id, status, change);

-- What a console's search looks through: subject and names, folded (store/search.go), and hashes of the addresses and their domains.
CREATE TABLE envelope_search (
    envelope_id text PRIMARY KEY REFERENCES envelopes (id),
    app_id      text   NOT NULL,
    text        text   NOT NULL,
    addresses   text   NOT NULL DEFAULT '{}'
);

-- Lists of the heads of audit chains, in the file store, that a time-stamp authority has confirmed.
CREATE TABLE audit_anchors (
    number   integer PRIMARY KEY,
    at       datetime    NOT NULL,
    digest   text NOT NULL, -- SHA-256 of the list
    entries  integer NOT NULL,
    blob_key text NOT NULL,
    token    blob NOT NULL -- RFC 3161, over the digest
);

-- Who is signed in to the console. A session ends when its row goes.
CREATE TABLE console_sessions (
    id         text PRIMARY KEY, -- of its token
    user_id    text        NOT NULL REFERENCES console_users (id),
    device     blob        NOT NULL, -- address and user agent, encrypted
    created_at datetime    NOT NULL,
    seen_at    datetime    NOT NULL, -- when the person last did something, to a minute
    expires_at datetime    NOT NULL
);
CREATE INDEX console_sessions_user ON console_sessions (user_id);
CREATE INDEX console_sessions_expires ON console_sessions (expires_at);

-- A console user's second factor (RFC 6238), and codes for when it is lost.
CREATE TABLE console_factors (
    id           text PRIMARY KEY REFERENCES console_users (id),
    secret       blob        NOT NULL, -- encrypted
    created_at   datetime    NOT NULL,
    confirmed_at datetime, -- NULL: a first code is awaited
    last_step    bigint      NOT NULL -- of the last code taken: none is taken twice
);
CREATE TABLE console_recovery_codes (
    user_id text  NOT NULL REFERENCES console_users (id),
    hash    blob NOT NULL, -- SHA-256; the codes are random
    PRIMARY KEY (user_id, hash)
);

-- The certificates that seal here, or once did: each is trusted itself, and not what its authority issued to others.
CREATE TABLE seal_certificates (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        blob NOT NULL,
    created_at datetime    NOT NULL
);

-- From when on a key that signs records, or a sealing certificate, is not to be believed any more. Rows are only added.
CREATE TABLE key_revocations (
    seq         integer PRIMARY KEY AUTOINCREMENT,
    key_id      text NOT NULL, -- of signing_keys or seal_certificates
    at          datetime    NOT NULL,
    reason      text NOT NULL,
    recorded_at datetime    NOT NULL
);
-- +goose StatementBegin
CREATE TRIGGER key_revocations_no_update BEFORE UPDATE ON key_revocations
BEGIN
    SELECT RAISE(ABORT, 'key_revocations is append-only');
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER key_revocations_no_delete BEFORE DELETE ON key_revocations
BEGIN
    SELECT RAISE(ABORT, 'key_revocations is append-only');
END;
-- +goose StatementEnd
