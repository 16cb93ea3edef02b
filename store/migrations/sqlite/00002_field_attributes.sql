-- +goose Up
ALTER TABLE signers ADD COLUMN role text NOT NULL DEFAULT '';
ALTER TABLE fields ADD COLUMN name text NOT NULL DEFAULT '';
ALTER TABLE fields ADD COLUMN default_value text NOT NULL DEFAULT ''; -- encrypted
ALTER TABLE fields ADD COLUMN attributes text; -- JSON; NULL: none
UPDATE fields SET name = numbered.name
FROM (SELECT id, type || '_' || row_number() OVER (PARTITION BY envelope_id, type ORDER BY position) AS name FROM fields) AS numbered
WHERE numbered.id = fields.id;
