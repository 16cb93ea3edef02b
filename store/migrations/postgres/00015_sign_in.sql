-- +goose Up
-- Whom a provider (OpenID Connect) vouches for: SHA-256 of its issuer and its name for the person. NULL: an account
-- that signs in with its password.
ALTER TABLE console_users ADD COLUMN oidc_subject bytea;
CREATE UNIQUE INDEX console_users_oidc_subject ON console_users (oidc_subject);

-- When the person of a session proved at the provider who it is; NULL: at the service, or not told.
ALTER TABLE console_sessions ADD COLUMN proved_at timestamptz;

-- What was asked of somebody who signs in, and is awaited: each counts once, and for whom it was made alone.
CREATE TABLE console_challenges (
    id         text PRIMARY KEY, -- SHA-256 of what comes back, in hexadecimal digits
    kind       text        NOT NULL,
    holder     bytea       NOT NULL, -- SHA-256 of what only the asked browser or session has
    user_id    uuid REFERENCES console_users (id),
    data       bytea       NOT NULL, -- encrypted
    expires_at timestamptz NOT NULL
);
CREATE INDEX console_challenges_expires ON console_challenges (expires_at);
