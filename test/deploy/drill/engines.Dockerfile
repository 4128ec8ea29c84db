# Stand-ins for the images of the servers and the proxy, for a machine without a registry of images: the programs of Debian, npm and
# a build of EventStoreDB, behind the settings that deploy/compose.yaml gives to the images of their makers. ./images.sh builds them.

ARG BASE_IMAGE=debian:bookworm-slim

FROM ${BASE_IMAGE} AS event-store
RUN apt-get update && apt-get install -y --no-install-recommends curl libicu72 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
  && useradd --uid 1000 --home-dir /tmp eventstore && install -d -o eventstore /var/lib/eventstore
# Its programs are a volume. .NET keeps the locks that processes share in the home directory, and the rest is read-only.
ENV DOTNET_ROOT=/opt/eventstore/dotnet
USER eventstore
ENTRYPOINT ["/opt/eventstore/dotnet/dotnet", "/opt/eventstore/node/EventStore.ClusterNode.dll"]

FROM ${BASE_IMAGE} AS postgres
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-15 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
  && install -d -o postgres /var/lib/postgresql /var/run/postgresql
COPY test/deploy/drill/postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/15/docker
# As that image: without it Postgres would wait for its clients to go.
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]

FROM ${BASE_IMAGE} AS nats
RUN apt-get update && apt-get install -y --no-install-recommends wget nats-server && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ENTRYPOINT ["nats-server"]

FROM ${BASE_IMAGE} AS proxy
RUN apt-get update && apt-get install -y --no-install-recommends caddy && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config

# With the user of the image of its makers, and their place for the series.
FROM ${BASE_IMAGE} AS prometheus
RUN apt-get update && apt-get install -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
  && install -d -o nobody -g nogroup /prometheus
USER nobody
ENTRYPOINT ["prometheus"]
