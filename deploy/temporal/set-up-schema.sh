#!/bin/sh
# Brings the tables of Temporal's databases to this version; the connection is in SQL_HOST, SQL_USER and so on.
set -eu
for database in temporal:temporal temporal_visibility:visibility; do
  export SQL_DATABASE="${database%%:*}"
  temporal-sql-tool setup-schema -v 0.0
  temporal-sql-tool update-schema -d "$SCHEMA_DIR/${database##*:}/versioned"
done
