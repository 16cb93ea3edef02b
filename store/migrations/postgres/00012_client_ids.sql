-- +goose Up
-- An app logs in with its client id, which stands in no record; the app's own id does.
ALTER TABLE apps ADD COLUMN client_id uuid;
UPDATE apps SET client_id = id;
ALTER TABLE apps ALTER COLUMN client_id SET NOT NULL;
CREATE UNIQUE INDEX apps_client_id ON apps (client_id);

-- When a signer last fetched which sealed document, so that repeated downloads are one audit event.
ALTER TABLE signers ADD COLUMN downloads text;

ALTER TABLE tenant_settings ADD COLUMN language text;
ALTER TABLE tenant_settings ADD COLUMN reply_to text;
ALTER TABLE tenant_settings ADD COLUMN notify_email text;

-- +goose Down
ALTER TABLE tenant_settings DROP COLUMN notify_email;
ALTER TABLE tenant_settings DROP COLUMN reply_to;
ALTER TABLE tenant_settings DROP COLUMN language;
ALTER TABLE signers DROP COLUMN downloads;
DROP INDEX apps_client_id;
ALTER TABLE apps DROP COLUMN client_id;
