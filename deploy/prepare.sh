#!/bin/sh
# Makes deploy/.env and deploy/secrets for compose.yaml; what is there already stays as it is, except the addresses of the servers in
# compose.yaml, which follow from deploy/.env and the passwords, and the rights in NATS, which follow the version. It needs openssl.
#
#   deploy/prepare.sh             one of each server and role
#   deploy/prepare.sh --cluster   the profile cluster: puts deploy/cluster.env at the end of deploy/.env
set -eu
cd "$(dirname "$0")"
usage='usage: prepare.sh [--cluster]   docs/deployment.md'
case "${1:-}" in
  '' | --cluster) ;;
  -h | --help) echo "$usage"; exit ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
command -v openssl > /dev/null || { echo 'prepare.sh: openssl is missing: install it, then run this again' >&2; exit 1; }
# It may hold secrets too, of a mail server and others.
[ -e .env ] || (umask 077 && cp env.example .env)
[ "${1:-}" = '' ] || grep -q '^EVENT_STORE_NODES=' .env || cat cluster.env >> .env
umask 022
# The folder keeps others out. The files are readable, since each container reads them as a user of its own.
mkdir -p secrets/trusted downloader platforms/rules platforms/secrets
chmod 700 secrets
cd secrets

random() { openssl rand -hex 24; }
# From standard input, so that no secret is in the list of processes.
# What was cut off is empty, and made again the next time.
write() { cat > "$1.new" && [ -s "$1.new" ] && mv "$1.new" "$1"; }
new() { if [ -s "$1" ]; then cat > /dev/null; else write "$1"; fi; }
# address FILE PASSWORD_FILE: an address with another password is that of a server of your own, and stays.
address() { if [ ! -s "$1" ] || grep -qFf "$2" "$1"; then write "$1"; else cat > /dev/null; fi; }
# The last line counts, and quotes do not, as with Compose.
variable() { sed -n "s/^$1=[\"']\{0,1\}\([^\"' ]*\).*/\1/p" ../.env | tail -n 1; }

for name in reeltally_secret postgres_password postgres_reeltally_password postgres_replicator_password grafana_password; do
  random | new $name
done
for name in .eventstore .nats .nats-routes; do random | new $name; done
openssl rand -base64 32 | new proof_signing_key
admin=$(random) ops=$(random)
echo "admin:$admin" | new eventstore_admin
echo "EVENTSTORE_DEFAULT_ADMIN_PASSWORD=$(cut -d: -f2 eventstore_admin)
EVENTSTORE_DEFAULT_OPS_PASSWORD=$ops" | new event-store.env

event_stores=event-store:2113 nats=nats:4222
if [ "$(variable EVENT_STORE_NODES)" = 3 ]; then event_stores=$event_stores,event-store-2:2113,event-store-3:2113; fi
if [ "$(variable NATS_CONFIG)" = cluster.conf ]; then nats=$nats,nats-2:4222,nats-3:4222; fi
postgres=$(variable POSTGRES_PRIMARY)
ca=/run/secrets/servers_ca
echo "postgres://reeltally:$(cat postgres_reeltally_password)@${postgres:-postgres}:5432/reeltally?sslmode=verify-full&sslrootcert=$ca" |
  address database_url postgres_reeltally_password
echo "tls://reeltally:$(cat .nats)@$nats?tlsCAFile=$ca" | address nats_url .nats
echo "esdb://reeltally:$(cat .eventstore)@$event_stores?tls=true&tlsCAFile=$ca" | address eventstore_url .eventstore

# It publishes and reads what the service uses, and removes neither the queue nor its messages. The rights are those of this version.
rights=$(cat nats_users 2> /dev/null || true)
cat <<USERS | write nats_users
authorization {
  users: [
    {
      user: reeltally, password: "$(cat .nats)"
      permissions: {
        publish: {
          allow: ["downloads.queued", "probes", "short-links", "progress.*", "_INBOX.>", "\$JS.ACK.DOWNLOADS.>", "\$JS.API.INFO",
            "\$JS.API.STREAM.INFO.DOWNLOADS", "\$JS.API.STREAM.CREATE.DOWNLOADS", "\$JS.API.CONSUMER.CREATE.DOWNLOADS.>",
            "\$JS.API.CONSUMER.DURABLE.CREATE.DOWNLOADS.workers", "\$JS.API.CONSUMER.INFO.DOWNLOADS.workers",
            "\$JS.API.CONSUMER.MSG.NEXT.DOWNLOADS.workers"]
        }
        subscribe: { allow: ["probes", "short-links", "progress.*", "_INBOX.>"] }
      }
    }
  ]
}
USERS
if [ "${rights:-$(cat nats_users)}" != "$(cat nats_users)" ]; then
  echo 'prepare.sh: the rights of the user of NATS have changed: restart nats (and nats-2, nats-3, one after the other)'
fi
cat <<ROUTES | new nats_routes
authorization { user: routes, password: "$(cat .nats-routes)" }
routes: [
  "nats-route://routes:$(cat .nats-routes)@nats:6222"
  "nats-route://routes:$(cat .nats-routes)@nats-2:6222"
  "nats-route://routes:$(cat .nats-routes)@nats-3:6222"
]
ROUTES

# The authority of the servers' certificates, and these, all valid for ten years. One certificate for the servers of a kind.
[ -e trusted/ca.crt ] || openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj '/CN=Reeltally servers CA' \
  -keyout ca.key -out trusted/ca.crt 2> /dev/null
# certificate FILE NAME USAGE KEY HOST...: made again if it is not for the last host. An elliptic key is made at once; EventStoreDB
# takes RSA alone.
certificate() {
  file=$1 name=$2 usage=$3 key=$4
  shift 4
  names=DNS:localhost,IP:127.0.0.1
  for host in "$@"; do names=$names,DNS:$host; done
  if [ -e "$file.crt" ] && openssl x509 -in "$file.crt" -noout -checkhost "$host" | grep -q 'does match'; then return; fi
  # Without quotes: its words are options.
  # shellcheck disable=SC2086
  openssl req -newkey $key -nodes -subj "/CN=$name" -keyout "$file.key" -out node.csr 2> /dev/null
  printf 'subjectAltName=%s\nextendedKeyUsage=%s\nkeyUsage=digitalSignature,keyEncipherment\n' "$names" "$usage" > node.ext
  openssl x509 -req -in node.csr -CA trusted/ca.crt -CAkey ca.key -CAserial ca.srl -CAcreateserial -days 3650 -extfile node.ext \
    -out "$file.crt" 2> /dev/null
  rm node.csr node.ext
}
# EventStoreDB takes whoever shows a certificate of this name for one of its nodes.
certificate eventstore eventstoredb-node serverAuth,clientAuth rsa:3072 event-store event-store-2 event-store-3
elliptic='ec -pkeyopt ec_paramgen_curve:P-256'
certificate nats nats serverAuth,clientAuth "$elliptic" nats nats-2 nats-3
certificate postgres postgres serverAuth "$elliptic" postgres postgres-standby
# Only these are for nobody but the owner: no container reads them.
chmod 600 ca.key .eventstore .nats .nats-routes
chmod 644 eventstore.key nats.key postgres.key
