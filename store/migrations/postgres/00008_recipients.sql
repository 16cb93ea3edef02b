-- +goose Up
-- What part a recipient plays, and in which language they read.
ALTER TABLE signers
    ADD COLUMN kind        text    NOT NULL DEFAULT 'signer',
    ADD COLUMN language    text    NOT NULL DEFAULT '',
    ADD COLUMN silent      boolean NOT NULL DEFAULT false, -- the sender delivers the link
    ADD COLUMN host_name   text    NOT NULL DEFAULT '', -- of who hands an in-person signer the device
    ADD COLUMN host_email  text, -- encrypted
    ADD COLUMN witness_for text    NOT NULL DEFAULT '', -- the role of whose signature the signer witnesses
    ADD COLUMN opened      text; -- documents that were opened by who has to open them all
