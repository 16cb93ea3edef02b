-- +goose Up
-- The certificates that the seals of this installation lead to, so that every process trusts them.
CREATE TABLE seal_roots (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        bytea       NOT NULL,
    created_at timestamptz NOT NULL
);

-- +goose Down
DROP TABLE seal_roots;
