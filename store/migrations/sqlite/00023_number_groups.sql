-- +goose Up
-- SQLite has no index of parts of texts.
SELECT 1;
