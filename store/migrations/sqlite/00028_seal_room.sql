-- +goose Up
-- How much of what its sealed documents can hold an envelope has used up, as JSON.
ALTER TABLE envelopes ADD COLUMN used text;
-- Which pages a signer has viewed, and how often again, as JSON.
ALTER TABLE signers ADD COLUMN pages text;
