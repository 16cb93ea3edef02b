-- +goose Up
-- What examining an upload found out for sealing it; empty: it is found out again.
ALTER TABLE documents ADD COLUMN seal_facts text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE documents DROP COLUMN seal_facts;
