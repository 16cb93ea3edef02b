-- +goose Up
-- SQLite has no partitions: rows are removed one by one.
SELECT 1;
