import { connect, DebugEvents, Events, type NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { withDeadline } from '../../async/deadline.ts';
import { type ServicePart, servicePart, type ServiceParts } from '../../ports/service-parts.ts';
import { readNatsAddress } from './address.ts';

/** Private members of the pinned client version. */
interface ClientInternals {
  protocol: { servers: { getServers(): { src: string }[]; addServer(server: string): void } };
}

/**
 * Connects, and reconnects for ever, so that this process goes on when NATS was away.
 *
 * @param url one that `readNatsAddress` takes
 * @throws when the first connection takes longer than `timeoutMs`
 */
export async function connectNats(
  url: string,
  {
    name,
    timeoutMs = 10_000,
    ...reporting
  }: { name: string; logger: Logger; serviceParts?: ServiceParts; timeoutMs?: number },
): Promise<NatsConnection> {
  const address = readNatsAddress(url);
  if (!address) throw new Error('its address cannot be read');
  const connection = await connect({
    servers: address.servers,
    name,
    ...address.credentials,
    ...(address.tls && { tls: address.tls }),
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    // Else the second refusal of our password, by any of the servers, closes the connection for good.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 500,
    pingInterval: 10_000,
    maxPingOut: 2,
  });
  tryAllServers(connection, address.servers);
  void watch(connection, servicePart(reporting, 'NATS'));
  return connection;
}

/**
 * The client forgets the servers that it does not reach at its first attempt, and would not try them again when the others are
 * away. Ours do not tell it of each other, because the names in their certificate are those of the address.
 */
function tryAllServers(connection: NatsConnection, wanted: readonly string[]): void {
  const { servers } = (connection as unknown as ClientInternals).protocol;
  const kept = new Set(servers.getServers().map(({ src }) => src));
  for (const server of wanted) if (!kept.has(server)) servers.addServer(server);
}

/** `ok` if NATS answers this process now, else why not. A connection that waits for its server knows it at once. */
export async function askNats(connection: NatsConnection, timeoutMs: number): Promise<string> {
  if (connection.isClosed()) return 'closed';
  const silence = () => 'does not answer';
  return await withDeadline(
    connection.rtt().then(() => 'ok', silence),
    timeoutMs,
    silence,
  );
}

async function watch(connection: NatsConnection, part: ServicePart): Promise<void> {
  for await (const { type } of connection.status()) {
    if (type === Events.Reconnect) part.works();
    if (type === Events.Disconnect || type === DebugEvents.Reconnecting)
      part.failed('the connection', undefined, { server: 'nats' });
  }
}
