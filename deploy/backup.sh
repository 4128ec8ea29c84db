#!/bin/sh
# Backs up an installation on servers of its own into a new folder, in the order that matters. The service may run.
#
#   deploy/backup.sh FOLDER             takes the settings of the service from the environment
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
incomplete=$(mktemp -d "$target.incomplete-XXXXXX")
trap 'rm -rf "$incomplete"' EXIT
trap 'exit 1' HUP INT TERM

in_api() { (cd "$deploy" && docker compose exec -T api "$@"); }
# An archive on standard output. Code 1: a file went or changed while it was read; without a byte, the container was not there.
archive() { { "$@" -cf - . > "$incomplete/files.tar" || [ $? -eq 1 ]; } && [ -s "$incomplete/files.tar" ]; }

# 1. Postgres, before the log: its read models may be older than the log, but never newer. Left out without PGDATABASE, because
#    most of it is made again from the log. pg_dump takes PGHOST, PGUSER and PGPASSFILE from the environment: an address on its
#    command line would show the password to everybody on this machine. An exported log gets other positions when it is imported,
#    so that the Postgres of before is of no use: left out with --compose.
if [ -n "$with_compose" ]; then
  :
elif [ -n "${PGDATABASE:-}" ]; then
  pg_dump --format=custom --file="$incomplete/postgres.dump"
fi

# 2. The log. With EVENTSTORE_DB, the folder of a node of EventStoreDB on this machine, its files are copied in the order that its
#    manual asks for (checkpoints before what they point to; not while a scavenge runs). Without it, every event is exported.
if [ -n "$with_compose" ]; then
  # Its own file system is read-only, and what is exported must be a new file.
  # The quotes are for the shell of the container.
  # shellcheck disable=SC2016
  in_api sh -euc '
    log=$REELTALLY_DATA/backup-$1.ndjson.gz
    trap "rm -f $log" EXIT
    node --disable-warning=ExperimentalWarning src/main/reeltally.js log export "$log" >&2
    cat "$log"' sh "$$" > "$incomplete/log.ndjson.gz"
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
  npm --prefix "$deploy/.." run -s reeltally -- log export "$(realpath "$incomplete")/log.ndjson.gz"
fi

# 3. Finished files, after the log. One that belongs to an event behind the end of the copied log is only surplus.
#    One that expires meanwhile is left out.
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
