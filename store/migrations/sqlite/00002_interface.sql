-- +goose Up
CREATE TABLE console_users (
    id            text PRIMARY KEY,
    app_id        text        NOT NULL REFERENCES apps (id),
    email         text        NOT NULL,
    email_key     text        NOT NULL UNIQUE,
    name          text        NOT NULL,
    password_hash blob       NOT NULL,
    role          text        NOT NULL,
    created_at    datetime NOT NULL,
    disabled_at   datetime
);
CREATE INDEX console_users_app ON console_users (app_id, id);

CREATE TABLE contacts (
    id         text PRIMARY KEY,
    app_id     text        NOT NULL REFERENCES apps (id),
    name       text        NOT NULL,
    email      text        NOT NULL,
    email_key  text        NOT NULL,
    phone      text,
    search     text        NOT NULL, -- name and address in lower case
    created_at datetime NOT NULL,
    UNIQUE (app_id, email_key)
);

CREATE TABLE embedded_sessions (
    id             text PRIMARY KEY,
    app_id         text        NOT NULL REFERENCES apps (id),
    tenant_id      text        NOT NULL,
    envelope_id    text        NOT NULL REFERENCES envelopes (id),
    signer_id      text        NOT NULL REFERENCES signers (id),
    token_hash     blob       NOT NULL UNIQUE,
    allowed_origin text        NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    created_at     datetime NOT NULL,
    expires_at     datetime NOT NULL,
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
    updated_at              datetime NOT NULL,
    PRIMARY KEY (app_id, tenant_id)
);

CREATE TABLE idempotency_keys (
    id          text PRIMARY KEY,
    scope       text        NOT NULL,
    method      text        NOT NULL,
    path        text        NOT NULL,
    key         text        NOT NULL,
    fingerprint blob       NOT NULL,
    committed   boolean     NOT NULL,
    status      integer     NOT NULL,
    header      text        NOT NULL,
    body        blob,
    created_at  datetime NOT NULL,
    expires_at  datetime NOT NULL,
    UNIQUE (scope, method, path, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Requests counted in windows, for all processes together.
CREATE TABLE rate_windows (
    key        text        NOT NULL,
    starts_at  datetime NOT NULL,
    used       integer     NOT NULL,
    expires_at datetime NOT NULL,
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
INSERT INTO envelope_counts (app_id, tenant_id, status, n)
    SELECT app_id, tenant_id, status, count(*) FROM envelopes GROUP BY app_id, tenant_id, status;

-- The console lists all tenants of an app.
CREATE INDEX envelopes_app ON envelopes (app_id, id DESC);
CREATE INDEX envelopes_app_status ON envelopes (app_id, status, id DESC);

ALTER TABLE webhooks ADD COLUMN previous_secret blob;
ALTER TABLE webhooks ADD COLUMN previous_until datetime;
ALTER TABLE webhooks ADD COLUMN failing_since datetime;
ALTER TABLE webhooks ADD COLUMN last_error text NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN disabled_at datetime;
ALTER TABLE webhooks ADD COLUMN disabled_reason text NOT NULL DEFAULT '';
ALTER TABLE webhook_deliveries ADD COLUMN run integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE webhook_deliveries DROP COLUMN run;
ALTER TABLE webhooks DROP COLUMN previous_secret;
ALTER TABLE webhooks DROP COLUMN previous_until;
ALTER TABLE webhooks DROP COLUMN failing_since;
ALTER TABLE webhooks DROP COLUMN last_error;
ALTER TABLE webhooks DROP COLUMN disabled_at;
ALTER TABLE webhooks DROP COLUMN disabled_reason;
DROP INDEX envelopes_app_status;
DROP INDEX envelopes_app;
DROP TABLE envelope_count_changes;
DROP TABLE envelope_counts;
DROP TABLE rate_windows;
DROP TABLE idempotency_keys;
DROP TABLE tenant_settings;
DROP TABLE embedded_sessions;
DROP TABLE contacts;
DROP TABLE console_users;
