-- +goose Up
CREATE TABLE console_users (
    id            uuid PRIMARY KEY,
    app_id        uuid        NOT NULL REFERENCES apps (id),
    email         text        NOT NULL,
    email_key     text        NOT NULL UNIQUE,
    name          text        NOT NULL,
    password_hash bytea       NOT NULL,
    role          text        NOT NULL,
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz
);
CREATE INDEX console_users_app ON console_users (app_id, id);

CREATE TABLE contacts (
    id         uuid PRIMARY KEY,
    app_id     uuid        NOT NULL REFERENCES apps (id),
    name       text        NOT NULL,
    email      text        NOT NULL,
    email_key  text        NOT NULL,
    phone      text,
    search     text        NOT NULL, -- name and address in lower case
    created_at timestamptz NOT NULL,
    UNIQUE (app_id, email_key)
);

CREATE TABLE embedded_sessions (
    id             uuid PRIMARY KEY,
    app_id         uuid        NOT NULL REFERENCES apps (id),
    tenant_id      text        NOT NULL,
    envelope_id    uuid        NOT NULL REFERENCES envelopes (id),
    signer_id      uuid        NOT NULL REFERENCES signers (id),
    token_hash     bytea       NOT NULL UNIQUE,
    allowed_origin text        NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    revoked_at     timestamptz
);
CREATE INDEX embedded_sessions_expiry ON embedded_sessions (expires_at);

-- tenant_id '' holds the app's own defaults, for all of its tenants.
CREATE TABLE tenant_settings (
    app_id                  uuid        NOT NULL REFERENCES apps (id),
    tenant_id               text        NOT NULL,
    default_expiry_days     integer,
    reminder_interval_hours integer,
    retention_days          integer,
    field_origin            text,
    sender_name             text,
    updated_at              timestamptz NOT NULL,
    PRIMARY KEY (app_id, tenant_id)
);

CREATE TABLE idempotency_keys (
    id          uuid PRIMARY KEY,
    scope       text        NOT NULL,
    method      text        NOT NULL,
    path        text        NOT NULL,
    key         text        NOT NULL,
    fingerprint bytea       NOT NULL,
    committed   boolean     NOT NULL,
    status      integer     NOT NULL,
    header      text        NOT NULL,
    body        bytea,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    UNIQUE (scope, method, path, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);

-- Requests counted in windows, for all processes together.
CREATE TABLE rate_windows (
    key        text        NOT NULL,
    starts_at  timestamptz NOT NULL,
    used       integer     NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (key, starts_at)
);
CREATE INDEX rate_windows_expiry ON rate_windows (expires_at);

-- How many envelopes there are of each status: what was folded, and the changes since. Changes are only
-- inserted, so that envelopes of one tenant do not wait for each other.
CREATE TABLE envelope_counts (
    app_id    uuid   NOT NULL,
    tenant_id text   NOT NULL,
    status    text   NOT NULL,
    n         bigint NOT NULL,
    PRIMARY KEY (app_id, tenant_id, status)
);
CREATE TABLE envelope_count_changes (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id    uuid    NOT NULL,
    tenant_id text    NOT NULL,
    status    text    NOT NULL,
    change    integer NOT NULL
);
CREATE INDEX envelope_count_changes_of ON envelope_count_changes (app_id, tenant_id, status) INCLUDE (change);
INSERT INTO envelope_counts (app_id, tenant_id, status, n)
    SELECT app_id, tenant_id, status, count(*) FROM envelopes GROUP BY app_id, tenant_id, status;

-- The console lists all tenants of an app.
CREATE INDEX envelopes_app ON envelopes (app_id, id DESC);
CREATE INDEX envelopes_app_status ON envelopes (app_id, status, id DESC);

ALTER TABLE webhooks ADD COLUMN previous_secret bytea;
ALTER TABLE webhooks ADD COLUMN previous_until timestamptz;
ALTER TABLE webhooks ADD COLUMN failing_since timestamptz;
ALTER TABLE webhooks ADD COLUMN last_error text NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN disabled_at timestamptz;
ALTER TABLE webhooks ADD COLUMN disabled_reason text NOT NULL DEFAULT '';
ALTER TABLE webhook_deliveries ADD COLUMN run integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE webhook_deliveries DROP COLUMN run;
ALTER TABLE webhooks DROP COLUMN previous_secret, DROP COLUMN previous_until, DROP COLUMN failing_since, DROP COLUMN last_error,
    DROP COLUMN disabled_at, DROP COLUMN disabled_reason;
DROP INDEX envelopes_app_status;
DROP INDEX envelopes_app;
DROP TABLE envelope_count_changes, envelope_counts, rate_windows, idempotency_keys, tenant_settings, embedded_sessions, contacts,
    console_users;
