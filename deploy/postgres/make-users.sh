#!/bin/sh
# Run by the Postgres image when it makes its folder: the service's user owns its database, and is no superuser. The standby's user
# copies, and does nothing else.
set -eu
psql --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" <<'SQL'
\set password `cat "$REELTALLY_PASSWORD_FILE"`
create role reeltally login password :'password';
create database reeltally owner reeltally;
revoke all on database reeltally from public;
\set password `cat "$REPLICATOR_PASSWORD_FILE"`
create role replicator login replication password :'password';
SQL
