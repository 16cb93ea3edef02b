-- +goose Up
-- Files that signers gave. One that nobody has signed with is removed after a day.
CREATE TABLE attachments (
    id          text PRIMARY KEY,
    envelope_id text NOT NULL REFERENCES envelopes (id),
    field_id    text NOT NULL REFERENCES fields (id),
    signer_id   text NOT NULL,
    name        text NOT NULL, -- encrypted
    mime_type   text NOT NULL,
    sha256      text NOT NULL,
    size        integer NOT NULL,
    blob_key    text NOT NULL,
    encrypted   boolean NOT NULL,
    used        boolean NOT NULL,
    created_at  datetime NOT NULL,
    purged_at   datetime
);
CREATE INDEX attachments_envelope ON attachments (envelope_id);
CREATE INDEX attachments_unused ON attachments (created_at) WHERE NOT used;
