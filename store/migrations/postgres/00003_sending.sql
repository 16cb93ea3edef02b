-- +goose Up
-- What the sender says of an envelope, and who has edited its draft.
ALTER TABLE envelopes
    ADD COLUMN external_id    text,
    ADD COLUMN metadata       text,
    ADD COLUMN reminder_hours integer,
    ADD COLUMN editors        text,
    ADD COLUMN updated_at     timestamptz NOT NULL DEFAULT now();
UPDATE envelopes SET updated_at = GREATEST(created_at, sent_at, completed_at, voided_at);

-- An external id names one envelope of a tenant that has not failed.
CREATE UNIQUE INDEX envelopes_external_id ON envelopes (app_id, tenant_id, external_id)
    WHERE external_id IS NOT NULL AND status NOT IN ('voided', 'declined', 'expired', 'deleted');
-- Lists in the order of changes.
CREATE INDEX envelopes_updated ON envelopes (app_id, tenant_id, updated_at, id);

ALTER TABLE signers
    ADD COLUMN previous         text, -- encrypted: who was to sign before
    ADD COLUMN allow_delegation boolean NOT NULL DEFAULT false,
    ADD COLUMN delegated        boolean NOT NULL DEFAULT false,
    ADD COLUMN resends          text, -- when invitations were asked for again
    ADD COLUMN copies           text; -- when the sealed files were asked for again
