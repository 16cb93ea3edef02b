-- +goose Up
-- The certificates that seal here, or once did: each is trusted itself, and not what its authority issued to others.
CREATE TABLE seal_certificates (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        blob NOT NULL,
    created_at datetime NOT NULL
);
DROP TABLE seal_roots;

-- From when on a key that signs records, or a sealing certificate, is not to be believed any more. Rows are only added.
CREATE TABLE key_revocations (
    seq         integer PRIMARY KEY AUTOINCREMENT,
    key_id      text NOT NULL, -- of signing_keys or seal_certificates
    at          datetime NOT NULL,
    reason      text NOT NULL,
    recorded_at datetime NOT NULL
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

-- Why the documents of an envelope cannot be sealed, and since when that is known.
ALTER TABLE envelopes ADD COLUMN sealing_problem text;
ALTER TABLE envelopes ADD COLUMN sealing_problem_at datetime;
CREATE INDEX envelopes_unsealed ON envelopes (id) WHERE sealing_problem IS NOT NULL;

-- +goose Down
DROP INDEX envelopes_unsealed;
ALTER TABLE envelopes DROP COLUMN sealing_problem_at;
ALTER TABLE envelopes DROP COLUMN sealing_problem;
DROP TABLE key_revocations;
CREATE TABLE seal_roots (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        blob NOT NULL,
    created_at datetime NOT NULL
);
DROP TABLE seal_certificates;
