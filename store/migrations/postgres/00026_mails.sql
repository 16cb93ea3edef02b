-- +goose Up
-- When the server first refused a mail, though not for good: it is tried for five days from then.
ALTER TABLE mails ADD COLUMN refused_at timestamptz;
-- The outbox row that asked for copies again: what a workflow that was lost is started from.
ALTER TABLE mails ADD COLUMN request_id uuid;
