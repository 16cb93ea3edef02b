-- +goose Up
-- Passkeys (WebAuthn), second factors of console users beside authenticator apps.
CREATE TABLE console_passkeys (
    id            text PRIMARY KEY,
    user_id       text     NOT NULL REFERENCES console_users (id),
    credential_id blob     NOT NULL UNIQUE, -- the authenticator's name for it
    credential    blob     NOT NULL, -- public key and counter, JSON
    name          text     NOT NULL, -- the owner's name for it
    created_at    datetime NOT NULL,
    used_at       datetime
);
CREATE INDEX console_passkeys_user ON console_passkeys (user_id, id);
