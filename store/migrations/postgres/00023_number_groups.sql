-- +goose Up
-- What is searched for most is a number. pg_trgm's index is of groups of three characters, and among millions of texts every three
-- digits are in tens of thousands. number_groups writes one of 36 characters for each three digits of a number that follow each
-- other, so that three of those characters stand for five digits, and are in hundreds. '123456 of 98765' becomes 'filo fc9' (123 % 36
-- is 15, and f the 15th after 0). Numbers of less than five digits are left out, and a text without others has none.
-- +goose StatementBegin
CREATE FUNCTION number_groups(searched text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT string_agg(groups, ' ' ORDER BY n) FROM (
        SELECT n, string_agg(substr('0123456789abcdefghijklmnopqrstuvwxyz', substr(digits[1], i, 3)::integer % 36 + 1, 1), '' ORDER BY i) AS groups
        FROM regexp_matches(searched, '[0-9]{5,}', 'g') WITH ORDINALITY AS number (digits, n), generate_series(1, length(digits[1]) - 2) AS i
        GROUP BY n) AS numbers
$$;
-- +goose StatementEnd
ALTER TABLE envelope_search ADD COLUMN numbers text COLLATE "C" GENERATED ALWAYS AS (number_groups(text)) STORED;
-- As envelope_search_text, where pg_trgm is there.
-- +goose StatementBegin
DO $$
BEGIN
    CREATE INDEX envelope_search_numbers ON envelope_search USING gin (numbers gin_trgm_ops) WHERE numbers IS NOT NULL;
EXCEPTION
    WHEN undefined_object THEN
        RAISE NOTICE 'searching numbers without an index: %', SQLERRM;
END
$$;
-- +goose StatementEnd
ANALYZE envelope_search;
