-- +goose Up
-- Lists by external id: envelopes_external_id has none of those that have failed.
CREATE INDEX envelopes_list_external_id ON envelopes (app_id, tenant_id, external_id, id) WHERE external_id IS NOT NULL;
