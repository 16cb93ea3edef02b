-- +goose Up
-- Audit events and values of ended envelopes can be moved to files (store/archive.go).
CREATE TABLE envelope_archives (
    id            uuid PRIMARY KEY,
    envelope_id   uuid        NOT NULL REFERENCES envelopes (id),
    sha256        text        NOT NULL, -- of the file
    size          bigint      NOT NULL,
    key           bytea, -- of the file, encrypted; NULL once the archive is released
    events        bigint      NOT NULL,
    last_event_at timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    released_at   timestamptz -- since when the rows are in the database again
);
-- An envelope is in one archive.
CREATE UNIQUE INDEX envelope_archives_envelope ON envelope_archives (envelope_id) WHERE released_at IS NULL;
CREATE INDEX envelope_archives_released ON envelope_archives (released_at) WHERE released_at IS NOT NULL;
CREATE INDEX envelope_archives_last_event ON envelope_archives (last_event_at);

ALTER TABLE envelopes
    ADD COLUMN archived         boolean NOT NULL DEFAULT false,
    ADD COLUMN archive_retry_at timestamptz; -- when to try again to archive what could not be
CREATE INDEX envelopes_to_archive ON envelopes (updated_at)
    WHERE NOT archived AND status IN ('completed', 'declined', 'voided', 'expired', 'deleted');

-- An audit event can only be deleted in favour of an archive that has it.
-- +goose StatementBegin
CREATE FUNCTION audit_events_are_archived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM envelope_archives WHERE envelope_id = OLD.envelope_id AND released_at IS NULL AND events >= OLD.seq) THEN
        RAISE EXCEPTION 'audit_events is append-only';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
DROP TRIGGER audit_events_append_only ON audit_events;
CREATE TRIGGER audit_events_append_only
    BEFORE UPDATE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_append_only();
CREATE TRIGGER audit_events_no_delete
    BEFORE DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION audit_events_are_archived();
