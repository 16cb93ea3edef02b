#!/bin/bash
# Creates the databases and their owners. The PostgreSQL image runs this script if the volume is new.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --no-psqlrc --username "${POSTGRES_USER:-postgres}" --dbname postgres \
  --set countersign="$COUNTERSIGN_DB_PASSWORD" --set temporal="$TEMPORAL_DB_PASSWORD" <<'SQL'
CREATE ROLE countersign LOGIN PASSWORD :'countersign';
CREATE ROLE temporal LOGIN PASSWORD :'temporal';
CREATE DATABASE countersign OWNER countersign;
CREATE DATABASE temporal OWNER temporal;
CREATE DATABASE temporal_visibility OWNER temporal;
REVOKE CONNECT ON DATABASE countersign, temporal, temporal_visibility FROM PUBLIC;
SQL
