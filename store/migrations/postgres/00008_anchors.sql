-- +goose Up
-- Lists of the heads of audit chains, in the file store, that a time-stamp authority has confirmed.
CREATE TABLE audit_anchors (
    number   bigint PRIMARY KEY,
    at       timestamptz NOT NULL,
    digest   text NOT NULL, -- SHA-256 of the list
    entries  bigint NOT NULL,
    blob_key text NOT NULL,
    token    bytea NOT NULL -- RFC 3161, over the digest
);
-- Finds the events of the last day. They lie in the order of time, so that this index is small and costs a write next to nothing.
CREATE INDEX audit_events_time ON audit_events USING brin (timestamp) WITH (autosummarize = on);

-- +goose Down
DROP INDEX audit_events_time;
DROP TABLE audit_anchors;
