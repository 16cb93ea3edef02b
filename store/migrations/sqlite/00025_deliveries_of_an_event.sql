-- +goose Up
-- Lists of the deliveries of one event.
CREATE INDEX webhook_deliveries_name ON webhook_deliveries (app_id, event, id DESC);
