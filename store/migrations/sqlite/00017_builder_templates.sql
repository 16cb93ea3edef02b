-- +goose Up
-- A builder session is for a draft or for a template. SQLite cannot take NOT NULL from a column: the table is made anew.
ALTER TABLE builder_sessions RENAME TO builder_sessions_before;
CREATE TABLE builder_sessions (
    id             text PRIMARY KEY,
    app_id         text        NOT NULL REFERENCES apps (id),
    tenant_id      text        NOT NULL,
    envelope_id    text        REFERENCES envelopes (id) ON DELETE CASCADE,
    template_id    text        REFERENCES templates (id) ON DELETE CASCADE,
    token_hash     blob       NOT NULL UNIQUE,
    allowed_origin text        NOT NULL,
    return_url     text,
    primary_color  text,
    border_radius  text,
    features       text        NOT NULL, -- JSON
    created_at     datetime NOT NULL,
    expires_at     datetime NOT NULL,
    revoked_at     datetime,
    CONSTRAINT builder_sessions_one CHECK ((envelope_id IS NULL) <> (template_id IS NULL))
);
INSERT INTO builder_sessions (id, app_id, tenant_id, envelope_id, token_hash, allowed_origin, return_url, primary_color, border_radius, features, created_at, expires_at, revoked_at)
SELECT id, app_id, tenant_id, envelope_id, token_hash, allowed_origin, return_url, primary_color, border_radius, features, created_at, expires_at, revoked_at FROM builder_sessions_before;
DROP TABLE builder_sessions_before;
CREATE INDEX builder_sessions_expiry ON builder_sessions (expires_at);
CREATE INDEX builder_sessions_envelope ON builder_sessions (envelope_id);
CREATE INDEX builder_sessions_template ON builder_sessions (template_id);
