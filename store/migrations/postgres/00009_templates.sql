-- +goose Up
-- What envelopes are made of. tenant_id '' is for all tenants of the app.
CREATE TABLE templates (
    id          uuid PRIMARY KEY,
    app_id      uuid        NOT NULL REFERENCES apps (id),
    tenant_id   text        NOT NULL,
    external_id text,
    name        text        NOT NULL,
    version     integer     NOT NULL, -- the newest
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    archived_at timestamptz
);
CREATE INDEX templates_list ON templates (app_id, id DESC);
-- An external id names one template of a tenant that is not archived.
CREATE UNIQUE INDEX templates_external_id ON templates (app_id, tenant_id, external_id)
    WHERE external_id IS NOT NULL AND archived_at IS NULL;

-- A version is never changed.
CREATE TABLE template_versions (
    id          uuid PRIMARY KEY,
    template_id uuid        NOT NULL REFERENCES templates (id),
    number      integer     NOT NULL,
    content     text        NOT NULL, -- encrypted: texts, roles and fields
    created_by  text        NOT NULL,
    created_at  timestamptz NOT NULL,
    UNIQUE (template_id, number)
);

-- The files of a version. Several versions may name one file, and so may the envelopes that were made of them.
CREATE TABLE template_documents (
    id                 uuid PRIMARY KEY,
    version_id         uuid        NOT NULL REFERENCES template_versions (id),
    template_id        uuid        NOT NULL,
    document_id        uuid        NOT NULL, -- how fields name it, the same in each version that has it
    name               text        NOT NULL,
    mime_type          text        NOT NULL,
    sha256             text        NOT NULL,
    size               bigint      NOT NULL,
    page_count         integer     NOT NULL,
    pages              text,
    document_order     integer     NOT NULL,
    warnings           text,
    blob_key           text        NOT NULL,
    encrypted          boolean     NOT NULL,
    seal_facts         text        NOT NULL,
    prepared_sha256    text        NOT NULL,
    prepared_size      bigint      NOT NULL,
    prepared_key       text        NOT NULL,
    prepared_encrypted boolean     NOT NULL,
    prepared_changes   text,
    preparation        text        NOT NULL,
    created_at         timestamptz NOT NULL,
    released           boolean     NOT NULL DEFAULT false, -- the template is archived, and its files are looked after no more
    UNIQUE (version_id, document_order)
);
CREATE INDEX template_documents_template ON template_documents (template_id);
CREATE INDEX template_documents_blob ON template_documents (blob_key);
CREATE INDEX template_documents_prepared ON template_documents (prepared_key) WHERE prepared_key <> '';

ALTER TABLE envelopes ADD COLUMN template_id uuid;
ALTER TABLE envelopes ADD COLUMN template_version integer NOT NULL DEFAULT 0;
CREATE INDEX envelopes_template ON envelopes (app_id, template_id, id) WHERE template_id IS NOT NULL;

-- Whether a document's files are a template's, too: they are removed with the last that names them.
ALTER TABLE documents ADD COLUMN shared boolean NOT NULL DEFAULT false;
CREATE INDEX documents_shared_blob ON documents (blob_key) WHERE shared;
CREATE INDEX documents_shared_prepared ON documents (prepared_key) WHERE shared AND prepared_key <> '';
