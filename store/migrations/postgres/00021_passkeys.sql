-- +goose Up
-- Passkeys (WebAuthn), second factors of console users beside authenticator apps.
CREATE TABLE console_passkeys (
    id            uuid PRIMARY KEY,
    user_id       uuid        NOT NULL REFERENCES console_users (id),
    credential_id bytea       NOT NULL UNIQUE, -- the authenticator's name for it
    credential    bytea       NOT NULL, -- public key and counter, JSON
    name          text        NOT NULL, -- the owner's name for it
    created_at    timestamptz NOT NULL,
    used_at       timestamptz
);
CREATE INDEX console_passkeys_user ON console_passkeys (user_id, id);
