-- +goose Up
-- A builder session lets somebody prepare one draft inside a page of one origin.
CREATE TABLE builder_sessions (
    id             uuid PRIMARY KEY,
    app_id         uuid        NOT NULL REFERENCES apps (id),
    tenant_id      text        NOT NULL,
    envelope_id    uuid        NOT NULL REFERENCES envelopes (id) ON DELETE CASCADE,
    token_hash     bytea       NOT NULL UNIQUE,
    allowed_origin text        NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    features       text        NOT NULL, -- JSON
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    revoked_at     timestamptz
);
CREATE INDEX builder_sessions_expiry ON builder_sessions (expires_at);
CREATE INDEX builder_sessions_envelope ON builder_sessions (envelope_id);
