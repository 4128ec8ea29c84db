#!/bin/sh
# Backs up an installation on servers of its own into a new folder, in the order that matters. The service may run.
#
#   deploy/backup.sh FOLDER             takes the settings of the service, and PGDATABASE and its like, from the environment
#   deploy/backup.sh --compose FOLDER   the installation of compose.yaml: its containers do the work
#
# The folder holds personal data: only its owner may enter it. The secret is not in it; keep REELTALLY_SECRET, or deploy/secrets,
# with your other secrets.
set -eu
umask 077

usage='usage: backup.sh [--compose] FOLDER   a new folder; docs/operations.md, "Back up"'
with_compose=
case "${1:-}" in
  -h | --help) echo "$usage"; exit ;;
  --compose) with_compose=yes; shift ;;
esac
case "${1:-}" in '' | -*) echo "$usage" >&2; exit 2 ;; esac
target=$1 deploy=$(dirname "$0")
[ ! -e "$target" ] || { echo "backup.sh: $target exists: name a new folder" >&2; exit 1; }
if [ -z "$with_compose${PGDATABASE:-}" ]; then
  echo "backup.sh: PGDATABASE is not set: pending voids are in Postgres alone (docs/operations.md, \"Back up\")" >&2
  exit 1
fi
incomplete=$(mktemp -d "$target.incomplete-XXXXXX")
trap 'rm -rf "$incomplete"' EXIT
trap 'exit 1' HUP INT TERM

in_container() { (cd "$deploy" && docker compose exec -T "$@"); }
in_api() { in_container api "$@"; }
# An archive on standard output. Code 1: a file went or changed while it was read; without a byte, the container was not there.
archive() { { "$@" --exclude=./signed.notes -cf - . > "$incomplete/files.tar" || [ $? -eq 1 ]; } && [ -s "$incomplete/files.tar" ]; }

# The primary, as prepare.sh reads it.
if [ -n "$with_compose" ] && [ -e "$deploy/.env" ]; then
  postgres=$(sed -n "s/^POSTGRES_PRIMARY=[\"']\{0,1\}\([^\"' ]*\).*/\1/p" "$deploy/.env" | tail -n 1)
fi
# The answer to one statement. Whatever the role and the database have set, times are written as the restore reads them.
session="set datestyle = 'ISO, MDY'; set timezone = 'UTC'; set client_encoding = 'UTF8'; set standard_conforming_strings = on;"
in_postgres() {
  set -- psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --command "$session $1"
  [ -z "$with_compose" ] || set -- in_container --user postgres --env PGDATABASE=reeltally "${postgres:-postgres}" "$@"
  "$@"
}
# An hour early: the clock of a promoted standby may be behind. A database of an earlier version has no table for what is resolved.
before_log=$(in_postgres "select (clock_timestamp() - interval '1 hour')::text from (select count(*) from resolved_voids) known") || {
  echo "backup.sh: without this answer of Postgres there is no backup. Before an upgrade, take the script of the version that runs" >&2
  exit 1
}

# 1. Postgres, before the log: its read models may be older than the log, but never newer. Only with the files of a node: an
#    exported log gets other positions when it is imported, so that the Postgres of before is of no use beside it. pg_dump and psql
#    take PGHOST, PGUSER and PGPASSFILE from the environment: an address on their command line would show the password to everybody
#    on this machine.
if [ -z "$with_compose" ] && [ -n "${EVENTSTORE_DB:-}" ]; then
  pg_dump --format=custom --file="$incomplete/postgres.dump"
fi

# 2. The log. With EVENTSTORE_DB, the folder of a node of EventStoreDB on this machine, its files are copied in the order that its
#    manual asks for (checkpoints before what they point to; not while a scavenge runs). Without it, every event is exported, and
#    then the keys of the personal data in them, which Postgres alone has.
if [ -n "$with_compose" ]; then
  # Its own file system is read-only, and what is exported must be a new file.
  # The quotes are for the shell of the container.
  # shellcheck disable=SC2016
  in_api sh -euc '
    log=$REELTALLY_DATA/backup-$1.ndjson.gz keys=$REELTALLY_DATA/backup-$1.sql
    trap "rm -f $log $keys" EXIT
    node --disable-warning=ExperimentalWarning src/main/reeltally.js log export "$log" --keys "$keys" >&2
    tar -C "$REELTALLY_DATA" -cf - "${log##*/}" "${keys##*/}"' sh "$$" | tar -C "$incomplete" -xf -
  mv "$incomplete/backup-$$.ndjson.gz" "$incomplete/log.ndjson.gz"
  mv "$incomplete/backup-$$.sql" "$incomplete/personal-keys.sql"
elif [ -n "${EVENTSTORE_DB:-}" ]; then
  files=$(realpath "$incomplete")/event-store
  mkdir "$files"
  (
    cd "$EVENTSTORE_DB"
    find index -name '*.chk' -exec cp -a --parents --target-directory="$files" {} +
    find index -type f ! -name '*.chk' -exec cp -a --parents --target-directory="$files" {} +
    cp -a ./*.chk "$files"
    cp -a ./chunk-* "$files"
  )
  # A restored node begins by cutting off what was written behind its checkpoint.
  cp -a "$files/chaser.chk" "$files/truncate.chk"
else
  npm --prefix "$deploy/.." run -s reeltally -- log export "$(realpath "$incomplete")/log.ndjson.gz" --keys "$(realpath "$incomplete")/personal-keys.sql"
fi

# 3. Pending voids, which are in Postgres alone: each is the word given to a client that a charge is taken back. They are read after
#    the log is copied. Those that were resolved since the copy began are read too, because their voids may be behind its end. Each
#    row becomes one statement, which may run again: it adds the charges that the row does not have yet. A charge that is voided
#    already stays as it is, because the dispatcher looks into the log first.
columns='append_id, account_id, stream, expected_revision, events, voids, created_at'
echo "$session" > "$incomplete/pending-voids.sql"
in_postgres "
  select format(
    'insert into pending_voids ($columns) '
    'values (%L, %L, %L, %L, %L, %L, %L) on conflict (append_id) do update set voids = (select jsonb_agg(distinct charge) '
    'from jsonb_array_elements(pending_voids.voids || excluded.voids) charge);',
    $columns)
  from (
    select $columns from pending_voids union all
    select $columns from resolved_voids where resolved_at >= '$before_log'
  ) each order by created_at, append_id" >> "$incomplete/pending-voids.sql"

# 4. Finished files, after the log. One that belongs to an event behind the end of the copied log is only surplus.
#    One that expires meanwhile is left out. So are the notes: a restored log is compared with the newest signed head that was
#    kept, and not with one of its own age.
if [ -n "$with_compose" ]; then
  S3_BUCKET=$(in_api printenv S3_BUCKET || true)
  FILES_DIRECTORY=$(in_api printenv FILES_DIRECTORY || echo "$(in_api printenv REELTALLY_DATA)/files")
fi
if [ -n "${S3_BUCKET:-}" ]; then
  echo "backup.sh: finished files are in the bucket $S3_BUCKET, and not in this backup" >&2
elif [ -z "${FILES_DIRECTORY:-}" ]; then
  echo "backup.sh: FILES_DIRECTORY is not set: finished files are not in this backup" >&2
elif [ -n "$with_compose" ]; then
  archive in_api tar -C "$FILES_DIRECTORY"
else
  archive tar -C "$FILES_DIRECTORY"
fi

(cd "$incomplete" && find . -type f ! -name SHA256SUMS -exec sha256sum {} + >SHA256SUMS)
mv "$incomplete" "$target"
trap - EXIT
echo "The backup is in $target. Check it with: (cd $target && sha256sum --quiet -c SHA256SUMS)"
