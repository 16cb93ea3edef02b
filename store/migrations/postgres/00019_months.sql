-- +goose NO TRANSACTION
-- +goose Up
-- Webhook events, deliveries and their attempts become tables with a partition for each month (store/partitions.go, ADR 75).
-- What is there stays where it is, as the partition of all that was made before next month: no row is moved, and no index built.
--
-- First, what will be its bound, without looking at a row: a lock for a moment.
-- +goose StatementBegin
DO $$
DECLARE
    bound text := lpad(to_hex((extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month') * 1000)::bigint), 12, '0') || '00000000000000000000';
BEGIN
    PERFORM set_config('lock_timeout', '10s', true);
    IF NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conname = 'webhook_events_before' AND connamespace = current_schema()::regnamespace) THEN
        EXECUTE format('ALTER TABLE webhook_events ADD CONSTRAINT webhook_events_before CHECK (id < %L::uuid) NOT VALID', bound::uuid);
        EXECUTE format('ALTER TABLE webhook_deliveries ADD CONSTRAINT webhook_deliveries_before CHECK (id < %L::uuid) NOT VALID', bound::uuid);
        EXECUTE format('ALTER TABLE delivery_attempts ADD CONSTRAINT delivery_attempts_before CHECK (delivery_id < %L::uuid) NOT VALID', bound::uuid);
    END IF;
END $$;
-- +goose StatementEnd
-- All rows are read, while others read and write.
ALTER TABLE webhook_events VALIDATE CONSTRAINT webhook_events_before;
ALTER TABLE webhook_deliveries VALIDATE CONSTRAINT webhook_deliveries_before;
ALTER TABLE delivery_attempts VALIDATE CONSTRAINT delivery_attempts_before;
-- The tables change their names. Who waits for a lock lets nobody else pass, so each try waits for a second at most.
-- +goose StatementBegin
DO $$
DECLARE
    tables CONSTANT text[] := ARRAY['webhook_events', 'webhook_deliveries', 'delivery_attempts'];
    keys   CONSTANT text[] := ARRAY['id', 'id', 'delivery_id'];
    bound  text;
    newest bigint;
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    FOR try IN 1..60 LOOP
        BEGIN
            LOCK TABLE webhook_events, webhook_deliveries, delivery_attempts IN ACCESS EXCLUSIVE MODE;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            IF try = 60 THEN
                RAISE;
            END IF;
            PERFORM pg_sleep(0.5);
        END;
    END LOOP;

    -- A partition is dropped in a moment if nothing has to be looked up for it: these rows are written together with what they
    -- refer to, and removed before it.
    ALTER TABLE delivery_attempts DROP CONSTRAINT delivery_attempts_delivery_id_fkey;
    ALTER TABLE webhook_deliveries DROP CONSTRAINT webhook_deliveries_event_id_fkey;

    -- All partitions count the insertions together.
    SELECT CASE WHEN is_called THEN last_value + 1 ELSE last_value END INTO newest FROM webhook_events_seq_seq;
    ALTER TABLE webhook_events ALTER COLUMN seq DROP IDENTITY;
    EXECUTE format('CREATE SEQUENCE webhook_events_insertions START %s', newest);
    ALTER TABLE webhook_events ALTER COLUMN seq SET DEFAULT nextval('webhook_events_insertions');

    FOR i IN 1..3 LOOP
        SELECT substring(pg_get_constraintdef(oid) FROM '[0-9a-f]{8}-[0-9a-f-]{27}') INTO STRICT bound
        FROM pg_constraint WHERE conname = tables[i] || '_before' AND connamespace = current_schema()::regnamespace;
        EXECUTE format('ALTER TABLE %I RENAME TO %I', tables[i], tables[i] || '_past');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS) PARTITION BY RANGE (%I)', tables[i], tables[i] || '_past', keys[i]);
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING CONSTRAINTS)', tables[i] || '_default', tables[i] || '_past');
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', tables[i], tables[i] || '_past', bound);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', tables[i], tables[i] || '_default');
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', tables[i] || '_past', tables[i] || '_before');
    END LOOP;
END $$;
-- +goose StatementEnd
-- Compiling a query, and starting processes for it, take longer than any query of the service: the planner does either where it expects
-- many rows, as of a search in millions of envelopes. It is so for this user in this database, and for others as it was.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET jit = off', current_user, current_database());
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET max_parallel_workers_per_gather = 0', current_user, current_database());
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'jit and max_parallel_workers_per_gather stay as they are: %', SQLERRM;
END $$;
-- +goose StatementEnd
