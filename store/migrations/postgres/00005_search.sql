-- +goose Up
-- What a console's search looks through: subject, names and addresses, folded (store/search.go).
CREATE TABLE envelope_search (
    envelope_id uuid PRIMARY KEY REFERENCES envelopes (id),
    app_id      uuid NOT NULL,
    text        text NOT NULL
);
-- An index of parts of words, where the server has that extension and lets us have it; without it a search
-- reads the app's rows.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX envelope_search_text ON envelope_search USING gin (text gin_trgm_ops);
EXCEPTION
    WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
        RAISE NOTICE 'searching without an index: %', SQLERRM;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE envelope_search;
