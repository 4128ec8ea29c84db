#!/bin/sh
# The entrypoint of both Postgres services, before that of the image. PRIMARY names the service that leads, SELF this one. The other
# one copies the primary's folder at its first start and follows it from then on. A folder of the wrong kind is refused: two
# primaries must never run side by side.
set -eu
run=/var/run/postgresql
# Programs of Postgres look for certificates in the home directory, and that of root is closed to them.
as_postgres() { HOME=$run setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
refuse() { echo "$SELF: $1 See docs/operations.md, \"Promote the standby of Postgres\"." >&2; exit 1; }

# Postgres refuses a key that others may read, as a secret of Compose is.
install --owner=postgres --mode=0600 /run/secrets/postgres_key "$run/server.key"
echo "*:*:*:replicator:$(cat "$REPLICATOR_PASSWORD_FILE")" | install --owner=postgres --mode=0600 /dev/stdin "$run/passfile"
primary="host=$PRIMARY user=replicator passfile=$run/passfile sslmode=verify-full sslrootcert=/run/secrets/servers_ca"

if [ "$SELF" = "$PRIMARY" ]; then
  [ ! -e "$PGDATA/standby.signal" ] || refuse 'this folder is that of a standby, which must be promoted before it leads.'
elif [ -e "$PGDATA/PG_VERSION" ]; then
  [ -e "$PGDATA/standby.signal" ] || refuse "this folder is that of a primary, and $PRIMARY is to lead. If it was promoted, keep it, and \
set POSTGRES_PRIMARY=$SELF in deploy/.env. If $PRIMARY was promoted in its place and leads, remove the volume of this service."
else
  until pg_isready --quiet --host="$PRIMARY"; do sleep 1; done
  mkdir -p "$(dirname "$PGDATA")"
  chown postgres "$(dirname "$PGDATA")"
  rm -rf "$PGDATA.copy"
  # A slot of before belongs to a folder that is gone.
  as_postgres pg_receivewal --dbname="$primary" --slot=standby --drop-slot 2> /dev/null || true
  as_postgres pg_basebackup --dbname="$primary" --pgdata="$PGDATA.copy" --create-slot --slot=standby --checkpoint=fast
  as_postgres touch "$PGDATA.copy/standby.signal"
  # An empty folder may be there already; it would be moved into.
  [ ! -e "$PGDATA" ] || rmdir "$PGDATA"
  mv "$PGDATA.copy" "$PGDATA"
fi
# The name is in synchronous_standby_names. The copy above must not have it: the primary would take an incomplete folder for a standby.
exec docker-entrypoint.sh "$@" "--primary_conninfo=$primary application_name=standby" --primary_slot_name=standby
