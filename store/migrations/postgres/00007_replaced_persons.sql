-- +goose Up
-- Files of a person whom another has replaced: nobody gets them, and they are removed.
ALTER TABLE attachments ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
CREATE INDEX attachments_withdrawn ON attachments (created_at) WHERE withdrawn;

-- What an endpoint wants beyond the ordinary body, and the body with what signers entered.
ALTER TABLE webhooks ADD COLUMN include text;
ALTER TABLE webhook_events ADD COLUMN values_body bytea; -- encrypted
