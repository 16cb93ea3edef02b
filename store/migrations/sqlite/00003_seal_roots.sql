-- +goose Up
-- The certificates that the seals of this installation lead to, so that every process trusts them.
CREATE TABLE seal_roots (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        blob     NOT NULL,
    created_at datetime NOT NULL
);

-- +goose Down
DROP TABLE seal_roots;
