-- +goose Up
-- The console lists envelopes by the day they were made, and those with a mail that nobody took.
CREATE INDEX envelopes_created ON envelopes (app_id, created_at);
CREATE INDEX mails_failed ON mails (envelope_id) WHERE failed_at IS NOT NULL;

-- +goose Down
DROP INDEX mails_failed;
DROP INDEX envelopes_created;
