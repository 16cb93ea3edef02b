-- +goose Up
-- Who is signed in to the console. A session ends when its row goes.
CREATE TABLE console_sessions (
    id         text PRIMARY KEY, -- of its token
    user_id    text     NOT NULL REFERENCES console_users (id),
    device     blob     NOT NULL, -- address and user agent, sealed
    created_at datetime NOT NULL,
    seen_at    datetime NOT NULL, -- when the person last did something, to a minute
    expires_at datetime NOT NULL
);
CREATE INDEX console_sessions_user ON console_sessions (user_id);
CREATE INDEX console_sessions_expires ON console_sessions (expires_at);

-- A console user's second factor (RFC 6238), and codes for when it is lost.
CREATE TABLE console_factors (
    id           text PRIMARY KEY REFERENCES console_users (id),
    secret       blob   NOT NULL, -- sealed
    created_at   datetime NOT NULL,
    confirmed_at datetime, -- NULL: a first code is awaited
    last_step    bigint NOT NULL -- of the last code taken: none is taken twice
);
CREATE TABLE console_recovery_codes (
    user_id text  NOT NULL REFERENCES console_users (id),
    hash    blob NOT NULL, -- SHA-256; the codes are random
    PRIMARY KEY (user_id, hash)
);

-- +goose Down
DROP TABLE console_recovery_codes;
DROP TABLE console_factors;
DROP TABLE console_sessions;
