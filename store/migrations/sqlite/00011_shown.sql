-- +goose Up
-- What each signer was shown of the others' values, and which client confirmed the one-time code.
ALTER TABLE signers ADD COLUMN session_hash blob;
ALTER TABLE signers ADD COLUMN confirmed_by blob;
ALTER TABLE signers ADD COLUMN values_hash text NOT NULL DEFAULT '';
ALTER TABLE signers ADD COLUMN shown text NOT NULL DEFAULT '';
ALTER TABLE signers ADD COLUMN shown_signers text;
ALTER TABLE signers ADD COLUMN shown_confirmed boolean NOT NULL DEFAULT false;
UPDATE signers SET values_hash = COALESCE((SELECT json_extract(a.detail, '$.valuesSha256') FROM audit_events a WHERE a.envelope_id = signers.envelope_id AND a.name = 'signer.signed' AND a.actor = 'signer:' || signers.id), '') WHERE status = 'signed';
-- A short link names the signer's link by its id.
CREATE INDEX signers_link ON signers (link_id) WHERE link_id IS NOT NULL;
-- A picture's hash names it where the picture itself is not loaded. Encrypted, as the picture is.
ALTER TABLE field_values ADD COLUMN image_sha256 text NOT NULL DEFAULT '';
-- A saved signature is one tenant's, and of one way to prove who somebody is. Whose the old ones are is not known.
DELETE FROM saved_signatures;
ALTER TABLE saved_signatures ADD COLUMN tenant_id text NOT NULL DEFAULT '';
ALTER TABLE saved_signatures ADD COLUMN auth_method text NOT NULL DEFAULT '';
-- A file that was encrypted when it was kept is never read as plain text.
ALTER TABLE documents ADD COLUMN encrypted boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE documents DROP COLUMN encrypted;
ALTER TABLE saved_signatures DROP COLUMN auth_method;
ALTER TABLE saved_signatures DROP COLUMN tenant_id;
ALTER TABLE field_values DROP COLUMN image_sha256;
DROP INDEX signers_link;
ALTER TABLE signers DROP COLUMN shown_confirmed;
ALTER TABLE signers DROP COLUMN shown_signers;
ALTER TABLE signers DROP COLUMN shown;
ALTER TABLE signers DROP COLUMN values_hash;
ALTER TABLE signers DROP COLUMN confirmed_by;
ALTER TABLE signers DROP COLUMN session_hash;
