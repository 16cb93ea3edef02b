-- +goose Up
-- What mails, pages and certificates of a tenant look like.
ALTER TABLE tenant_settings ADD COLUMN primary_color text;
ALTER TABLE tenant_settings ADD COLUMN footer text;
ALTER TABLE tenant_settings ADD COLUMN support_url text;
ALTER TABLE tenant_settings ADD COLUMN logo_sha256 text;

CREATE TABLE tenant_logos (
    app_id    uuid NOT NULL REFERENCES apps (id),
    tenant_id text NOT NULL,
    sha256    text NOT NULL,
    png       bytea NOT NULL,
    PRIMARY KEY (app_id, tenant_id)
);
