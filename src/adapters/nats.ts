import { connect } from 'nats';
import type { NatsConnection } from 'nats';
import type { Logger } from 'pino';

/**
 * Connects, and stays connected: it tries again for ever, so that nothing here ends because NATS does. Credentials in the
 * URL are taken out of it.
 *
 * @throws when nothing answers at the address within `timeoutMs` at first
 */
export async function connectNats(
  url: string,
  { name, logger, timeoutMs = 10_000 }: { name: string; logger: Logger; timeoutMs?: number },
): Promise<NatsConnection> {
  const { protocol, host, username, password } = new URL(url);
  const connection = await connect({
    servers: host,
    name,
    ...(protocol === 'tls:' && { tls: {} }),
    ...(username !== '' && password === '' && { token: decodeURIComponent(username) }),
    ...(password !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    pingInterval: 10_000,
    maxPingOut: 2,
  });
  void watch(connection, logger);
  return connection;
}

async function watch(connection: NatsConnection, logger: Logger): Promise<void> {
  for await (const { type } of connection.status()) {
    if (['disconnect', 'reconnect'].includes(type)) logger.warn({ status: type }, 'the connection to NATS changed');
  }
}
