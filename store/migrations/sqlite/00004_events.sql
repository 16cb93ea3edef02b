-- +goose Up
-- The events of an app can be read one after the other (store/events.go). An event gets its position when it is first
-- read after its commit, so that none appears before one that was read already. Here the rowid is the order of insertion.
ALTER TABLE webhook_events ADD COLUMN tenant_id text NOT NULL DEFAULT '';
ALTER TABLE webhook_events ADD COLUMN position integer; -- in the feed of its app; NULL: not given yet
UPDATE webhook_events SET tenant_id = coalesce((SELECT tenant_id FROM envelopes WHERE envelopes.id = webhook_events.envelope_id), '');
CREATE UNIQUE INDEX webhook_events_position ON webhook_events (app_id, position) WHERE position IS NOT NULL;
CREATE INDEX webhook_events_unread ON webhook_events (app_id) WHERE position IS NULL;
CREATE INDEX webhook_events_time ON webhook_events (created_at);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);

CREATE TABLE event_feeds (
    app_id        text PRIMARY KEY REFERENCES apps (id),
    last_position integer NOT NULL DEFAULT 0
);
