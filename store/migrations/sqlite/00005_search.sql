-- +goose Up
-- What a console's search looks through: subject, names and addresses, folded (store/search.go).
CREATE TABLE envelope_search (
    envelope_id text PRIMARY KEY REFERENCES envelopes (id),
    app_id      text NOT NULL,
    text        text NOT NULL
);

-- +goose Down
DROP TABLE envelope_search;
