-- +goose Up
-- What failed rows of bulk sends are made from is removed some time after they failed.
CREATE INDEX bulk_send_rows_failed ON bulk_send_rows (settled_at) WHERE status = 'failed' AND data <> '';
