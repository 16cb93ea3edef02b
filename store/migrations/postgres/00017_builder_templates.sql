-- +goose Up
-- A builder session is for a draft or for a template.
ALTER TABLE builder_sessions ALTER COLUMN envelope_id DROP NOT NULL;
ALTER TABLE builder_sessions ADD COLUMN template_id uuid REFERENCES templates (id) ON DELETE CASCADE;
ALTER TABLE builder_sessions ADD CONSTRAINT builder_sessions_one CHECK ((envelope_id IS NULL) <> (template_id IS NULL));
CREATE INDEX builder_sessions_template ON builder_sessions (template_id);
