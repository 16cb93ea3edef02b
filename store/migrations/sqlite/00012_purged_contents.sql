-- +goose Up
-- A purge removes what was entered and what webhooks were sent, too: for envelopes that were purged before it did.
DELETE FROM field_values WHERE envelope_id IN (SELECT envelope_id FROM documents WHERE purge_status = 'purged');
UPDATE fields SET default_value = '' WHERE default_value <> '' AND envelope_id IN (SELECT envelope_id FROM documents WHERE purge_status = 'purged');
UPDATE delivery_attempts SET body = NULL WHERE body IS NOT NULL AND delivery_id IN (
    SELECT id FROM webhook_deliveries WHERE envelope_id IN (SELECT envelope_id FROM documents WHERE purge_status = 'purged'));
UPDATE webhook_events SET body = '', values_body = NULL WHERE name <> 'document.purged' AND envelope_id IN (
    SELECT envelope_id FROM documents WHERE purge_status = 'purged');
