-- +goose Up
-- Lanes take turns, so that none waits for another's backlog: the endpoint of a delivery, the app of everything else.
ALTER TABLE outbox ADD COLUMN lane uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
CREATE INDEX outbox_lane ON outbox (lane, seq);
DROP INDEX outbox_due;

-- +goose Down
CREATE INDEX outbox_due ON outbox (not_before, seq);
DROP INDEX outbox_lane;
ALTER TABLE outbox DROP COLUMN lane;
