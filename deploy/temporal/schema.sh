#!/bin/sh
# Migrates Temporal's two databases to the schema of this version. It is safe to run this script repeatedly.
set -eu

export SQL_PLUGIN=postgres12_pgx SQL_HOST=postgres SQL_PORT=5432 SQL_USER=temporal
versions=${TEMPORAL_SCHEMA:-/etc/temporal/schema/postgresql/v12}

temporal-sql-tool --db temporal setup-schema --version 0.0
temporal-sql-tool --db temporal update-schema --schema-dir "$versions/temporal/versioned"
temporal-sql-tool --db temporal_visibility setup-schema --version 0.0
temporal-sql-tool --db temporal_visibility update-schema --schema-dir "$versions/visibility/versioned"
