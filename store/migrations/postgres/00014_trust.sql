-- +goose Up
-- The certificates that seal here, or once did: each is trusted itself, and not what its authority issued to others.
CREATE TABLE seal_certificates (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        bytea NOT NULL,
    created_at timestamptz NOT NULL
);
DROP TABLE seal_roots;

-- From when on a key that signs records, or a sealing certificate, is not to be believed any more. Rows are only added.
CREATE TABLE key_revocations (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key_id      text NOT NULL, -- of signing_keys or seal_certificates
    at          timestamptz NOT NULL,
    reason      text NOT NULL,
    recorded_at timestamptz NOT NULL
);
-- +goose StatementBegin
CREATE FUNCTION key_revocations_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'key_revocations is append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER key_revocations_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON key_revocations
    FOR EACH STATEMENT EXECUTE FUNCTION key_revocations_append_only();

-- Why the documents of an envelope cannot be sealed, and since when that is known.
ALTER TABLE envelopes ADD COLUMN sealing_problem text;
ALTER TABLE envelopes ADD COLUMN sealing_problem_at timestamptz;
CREATE INDEX envelopes_unsealed ON envelopes (id) WHERE sealing_problem IS NOT NULL;

-- +goose Down
DROP INDEX envelopes_unsealed;
ALTER TABLE envelopes DROP COLUMN sealing_problem_at;
ALTER TABLE envelopes DROP COLUMN sealing_problem;
DROP TABLE key_revocations;
DROP FUNCTION key_revocations_append_only;
CREATE TABLE seal_roots (
    id         text PRIMARY KEY, -- SHA-256 of the certificate
    der        bytea NOT NULL,
    created_at timestamptz NOT NULL
);
DROP TABLE seal_certificates;
