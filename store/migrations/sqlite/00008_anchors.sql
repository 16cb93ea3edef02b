-- +goose Up
-- Lists of the heads of audit chains, in the file store, that a time-stamp authority has confirmed.
CREATE TABLE audit_anchors (
    number   integer PRIMARY KEY,
    at       datetime NOT NULL,
    digest   text NOT NULL, -- SHA-256 of the list
    entries  integer NOT NULL,
    blob_key text NOT NULL,
    token    blob NOT NULL -- RFC 3161, over the digest
);

-- +goose Down
DROP TABLE audit_anchors;
