#!/bin/sh
# Makes deploy/.env and deploy/secrets for compose.yaml; what is there already stays as it is. It needs openssl.
set -eu
cd "$(dirname "$0")"
[ -e .env ] || cp env.example .env
umask 022
# The folder keeps others out. The files are readable, since each container reads them as a user of its own.
mkdir -p secrets/trusted downloader
chmod 700 secrets
cd secrets

random() { openssl rand -hex 24; }
# From standard input, so that no secret is in the list of processes.
new() { if [ -e "$1" ]; then cat > /dev/null; else cat > "$1.new" && mv "$1.new" "$1"; fi; }

for name in reeltally_secret postgres_password postgres_reeltally_password grafana_password; do random | new $name; done
for name in .eventstore .nats; do random | new $name; done
[ -e eventstore_admin ] || echo "admin:$(random)" | new eventstore_admin
echo "EVENTSTORE_DEFAULT_ADMIN_PASSWORD=$(cut -d: -f2 eventstore_admin)
EVENTSTORE_DEFAULT_OPS_PASSWORD=$(random)" | new event-store.env

echo "postgres://reeltally:$(cat postgres_reeltally_password)@postgres:5432/reeltally" | new database_url
echo "nats://reeltally:$(cat .nats)@nats:4222" | new nats_url
echo "esdb://reeltally:$(cat .eventstore)@event-store:2113?tls=true&tlsCAFile=/run/secrets/eventstore_ca" | new eventstore_url

# It publishes and reads what the service uses, and removes neither the queue nor its messages.
cat <<USERS | new nats_users
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

# The authority of the event store's certificate, and that certificate, both valid for ten years.
[ -e trusted/ca.crt ] || openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj '/CN=Reeltally event store CA' \
  -keyout ca.key -out trusted/ca.crt 2> /dev/null
if [ ! -e eventstore.crt ]; then
  openssl req -newkey rsa:3072 -nodes -subj '/CN=eventstoredb-node' -keyout eventstore.key -out node.csr 2> /dev/null
  names=DNS:localhost,IP:127.0.0.1,DNS:event-store
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature,keyEncipherment\n' "$names" > node.ext
  openssl x509 -req -in node.csr -CA trusted/ca.crt -CAkey ca.key -CAserial ca.srl -CAcreateserial -days 3650 -extfile node.ext -out eventstore.crt 2> /dev/null
  rm node.csr node.ext
fi
# Only these two are for nobody but the owner: no container reads them.
chmod 600 ca.key .eventstore .nats
chmod 644 eventstore.key
