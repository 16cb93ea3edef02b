-- +goose Up
-- The events of an app can be read one after the other (store/events.go). An event gets its position when it is first
-- read after its commit, so that none appears before one that was read already.
ALTER TABLE webhook_events
    ADD COLUMN seq       bigint GENERATED ALWAYS AS IDENTITY, -- in the order of insertion
    ADD COLUMN tenant_id text NOT NULL DEFAULT '',
    ADD COLUMN position  bigint; -- in the feed of its app; NULL: not given yet
UPDATE webhook_events AS v SET tenant_id = e.tenant_id FROM envelopes AS e WHERE e.id = v.envelope_id;
CREATE UNIQUE INDEX webhook_events_position ON webhook_events (app_id, position) WHERE position IS NOT NULL;
CREATE INDEX webhook_events_unread ON webhook_events (app_id, seq) WHERE position IS NULL;
-- They lie in the order of time, so that this index is small and costs a write next to nothing.
CREATE INDEX webhook_events_time ON webhook_events USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (event_id);

CREATE TABLE event_feeds (
    app_id        uuid PRIMARY KEY REFERENCES apps (id),
    last_position bigint NOT NULL DEFAULT 0
);
