-- +goose Up
-- What the schedule "reconcile" looks for every few minutes (store/reconcile.go).
CREATE INDEX envelopes_unfinished ON envelopes (id) WHERE status IN ('sent', 'in_progress', 'sealing');
CREATE INDEX documents_timestamp_pending ON documents (envelope_id) WHERE timestamp_pending;
CREATE INDEX documents_retention ON documents (envelope_id) WHERE retention_until IS NOT NULL AND purge_status = 'active';
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (id) WHERE status = 'pending';
CREATE INDEX mails_requested ON mails (request_id) WHERE request_id IS NOT NULL AND sent_at IS NULL AND failed_at IS NULL;
