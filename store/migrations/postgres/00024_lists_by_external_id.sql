-- +goose NO TRANSACTION
-- +goose Up
-- Lists by external id: envelopes_external_id has none of those that have failed. Others write while it is made; one that was cut off is
-- made anew.
DROP INDEX IF EXISTS envelopes_list_external_id;
CREATE INDEX CONCURRENTLY envelopes_list_external_id ON envelopes (app_id, tenant_id, external_id, id) WHERE external_id IS NOT NULL;
