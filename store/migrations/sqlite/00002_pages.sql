-- +goose Up
-- Pictures and texts of pages, made when they are first asked for: each one file beside a document's stored file.
CREATE TABLE page_files (
    blob_key   text    NOT NULL, -- of the document's stored file
    profile    integer NOT NULL,
    page       integer NOT NULL,
    level      integer NOT NULL, -- 0: the text
    appearance text    NOT NULL, -- hash of the pixels, or of the text
    media_type text    NOT NULL,
    width      integer NOT NULL, -- pixels
    height     integer NOT NULL,
    sha256     text    NOT NULL, -- of the file
    encrypted  boolean NOT NULL,
    created_at datetime NOT NULL,
    PRIMARY KEY (blob_key, profile, page, level)
);

-- The profile of the appearance of an envelope's pages, since it was sent; 0: the present one.
ALTER TABLE envelopes ADD COLUMN appearance_profile integer NOT NULL DEFAULT 0;
