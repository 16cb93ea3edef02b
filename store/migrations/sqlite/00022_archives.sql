-- +goose Up
-- Audit events and values of ended envelopes can be moved to files (store/archive.go).
CREATE TABLE envelope_archives (
    id            text PRIMARY KEY,
    envelope_id   text     NOT NULL REFERENCES envelopes (id),
    sha256        text     NOT NULL, -- of the file
    size          integer  NOT NULL,
    key           blob, -- of the file, encrypted; NULL once the archive is released
    events        integer  NOT NULL,
    last_event_at datetime NOT NULL,
    created_at    datetime NOT NULL,
    released_at   datetime -- since when the rows are in the database again
);
-- An envelope is in one archive.
CREATE UNIQUE INDEX envelope_archives_envelope ON envelope_archives (envelope_id) WHERE released_at IS NULL;
CREATE INDEX envelope_archives_released ON envelope_archives (released_at) WHERE released_at IS NOT NULL;
CREATE INDEX envelope_archives_last_event ON envelope_archives (last_event_at);

ALTER TABLE envelopes ADD COLUMN archived boolean NOT NULL DEFAULT false;
ALTER TABLE envelopes ADD COLUMN archive_retry_at datetime; -- when to try again to archive what could not be
CREATE INDEX envelopes_to_archive ON envelopes (updated_at)
    WHERE NOT archived AND status IN ('completed', 'declined', 'voided', 'expired', 'deleted');

-- An audit event can only be deleted in favour of an archive that has it.
DROP TRIGGER audit_events_no_delete;
-- +goose StatementBegin
CREATE TRIGGER audit_events_no_delete BEFORE DELETE ON audit_events
WHEN NOT EXISTS (SELECT 1 FROM envelope_archives WHERE envelope_id = OLD.envelope_id AND released_at IS NULL AND events >= OLD.seq)
BEGIN
    SELECT RAISE(ABORT, 'audit_events is append-only');
END;
-- +goose StatementEnd
