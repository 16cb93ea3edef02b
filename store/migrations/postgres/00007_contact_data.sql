-- +goose Up
-- Addresses, phone numbers and signed values are sealed (store/sealed.go); what is there already is read as it is,
-- until `countersign key rewrap` seals it. Addresses are compared by keyed hashes.

-- Position of the envelope's first signer with the same address; NULL in rows from before.
ALTER TABLE signers ADD COLUMN mailbox integer;

-- Hashes of the addresses, and of their domains, that a search finds the envelope by.
ALTER TABLE envelope_search ADD COLUMN addresses text[] NOT NULL DEFAULT '{}';
CREATE INDEX envelope_search_addresses ON envelope_search USING gin (addresses);

-- An app's contacts are read in this order and searched outside the database.
ALTER TABLE contacts DROP COLUMN search;
CREATE INDEX contacts_app ON contacts (app_id, id);

-- The key was the address; rows from before have no other.
ALTER TABLE saved_signatures RENAME COLUMN email TO email_key;
ALTER TABLE saved_signatures ADD COLUMN email text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE saved_signatures DROP COLUMN email;
ALTER TABLE saved_signatures RENAME COLUMN email_key TO email;
DROP INDEX contacts_app;
ALTER TABLE contacts ADD COLUMN search text NOT NULL DEFAULT '';
DROP INDEX envelope_search_addresses;
ALTER TABLE envelope_search DROP COLUMN addresses;
ALTER TABLE signers DROP COLUMN mailbox;
