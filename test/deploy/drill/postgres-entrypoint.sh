#!/bin/bash
# The part of the entrypoint of the image "postgres" that deploy/compose.yaml relies on, under the same name.
set -eu
export HOME=/var/lib/postgresql
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  chown postgres /var/lib/postgresql /var/run/postgresql
  as_postgres initdb --auth-local=trust --auth-host=scram-sha-256 --pwfile="$POSTGRES_PASSWORD_FILE" > /dev/null
  as_postgres pg_ctl --wait --options="$(printf '%q ' "${@:2}") -c listen_addresses=" start
  for script in /docker-entrypoint-initdb.d/*.sh; do as_postgres "$script"; done
  as_postgres pg_ctl --wait stop
fi
chown postgres /var/run/postgresql
exec setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@" -c listen_addresses='*'
