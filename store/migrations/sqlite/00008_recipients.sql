-- +goose Up
-- What part a recipient plays, and in which language they read.
ALTER TABLE signers ADD COLUMN kind text NOT NULL DEFAULT 'signer';
ALTER TABLE signers ADD COLUMN language text NOT NULL DEFAULT '';
ALTER TABLE signers ADD COLUMN silent boolean NOT NULL DEFAULT false; -- the sender delivers the link
ALTER TABLE signers ADD COLUMN host_name text NOT NULL DEFAULT ''; -- of who hands an in-person signer the device
ALTER TABLE signers ADD COLUMN host_email text; -- encrypted
ALTER TABLE signers ADD COLUMN witness_for text NOT NULL DEFAULT ''; -- the role of whose signature the signer witnesses
ALTER TABLE signers ADD COLUMN opened text; -- documents that were opened by who has to open them all
