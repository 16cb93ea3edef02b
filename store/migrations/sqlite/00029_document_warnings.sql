-- +goose Up
-- The codes of what programs may show differently of an original, as JSON: its sender is warned of it.
ALTER TABLE documents ADD COLUMN notes text;
