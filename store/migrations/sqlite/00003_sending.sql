-- +goose Up
-- What the sender says of an envelope, and who has edited its draft.
ALTER TABLE envelopes ADD COLUMN external_id text;
ALTER TABLE envelopes ADD COLUMN metadata text;
ALTER TABLE envelopes ADD COLUMN reminder_hours integer;
ALTER TABLE envelopes ADD COLUMN editors text;
ALTER TABLE envelopes ADD COLUMN updated_at datetime NOT NULL DEFAULT '1970-01-01 00:00:00+00:00';
UPDATE envelopes SET updated_at = max(created_at, COALESCE(sent_at, created_at), COALESCE(completed_at, created_at), COALESCE(voided_at, created_at));

-- An external id names one envelope of a tenant that has not failed.
CREATE UNIQUE INDEX envelopes_external_id ON envelopes (app_id, tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status NOT IN ('voided', 'declined', 'expired', 'deleted');
-- Lists in the order of changes.
CREATE INDEX envelopes_updated ON envelopes (app_id, tenant_id, updated_at, id);

ALTER TABLE signers ADD COLUMN previous text; -- encrypted: who was to sign before
ALTER TABLE signers ADD COLUMN allow_delegation boolean NOT NULL DEFAULT false;
ALTER TABLE signers ADD COLUMN delegated boolean NOT NULL DEFAULT false;
ALTER TABLE signers ADD COLUMN resends text; -- when invitations were asked for again
ALTER TABLE signers ADD COLUMN copies text; -- when the sealed files were asked for again
