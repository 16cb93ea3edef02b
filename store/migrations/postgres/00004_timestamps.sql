-- +goose Up
-- Until when a sealed file's last document time-stamp can be verified, and whether one is still awaited because the
-- time-stamp authority did not answer.
ALTER TABLE documents ADD COLUMN timestamped_until timestamptz;
ALTER TABLE documents ADD COLUMN timestamp_pending boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE documents DROP COLUMN timestamp_pending;
ALTER TABLE documents DROP COLUMN timestamped_until;
