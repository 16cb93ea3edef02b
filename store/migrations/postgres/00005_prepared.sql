-- +goose Up
-- The file that people read in place of an original from which something was taken out.
ALTER TABLE documents ADD COLUMN prepared_sha256 text NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN prepared_size bigint NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN prepared_key text NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN prepared_encrypted boolean NOT NULL DEFAULT false;
ALTER TABLE documents ADD COLUMN prepared_changes text; -- what was taken out, in numbers
ALTER TABLE documents ADD COLUMN preparation text NOT NULL DEFAULT ''; -- how it was made, for the seal record
-- What a field was made of: tag or form; empty: a request.
ALTER TABLE fields ADD COLUMN source text NOT NULL DEFAULT '';
