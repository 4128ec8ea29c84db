import { once } from 'node:events';
import { createServer } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

interface Port {
  host: string;
  port: number;
  /** The setting that chooses another port. */
  setting: 'PORT' | 'HEALTH_PORT' | 'STAFF_PORT';
}

/** Tries the port before anything else is started. @throws {ConfigurationRefused} if it cannot be opened */
export async function requireFreePort(wanted: Port): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host: wanted.host, port: wanted.port });
    await once(server, 'listening');
  } catch (error) {
    throw refusalOf(error, wanted);
  }
  server.close();
  await once(server, 'close');
}

/** @returns the address of the server @throws {ConfigurationRefused} if the port cannot be opened */
export async function listen(server: FastifyInstance, wanted: Port): Promise<string> {
  const { host, port } = wanted;
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw refusalOf(error, wanted);
  }
  return listeningUrl(server, { HOST: host, PORT: port });
}

/** Its port is the one that the server has, where PORT left the choice to the system; before it listens, that of the settings. */
export function listeningUrl(server: FastifyInstance, { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const address = server.server.address();
  return localUrl({ HOST, PORT: typeof address === 'object' && address ? address.port : PORT });
}

function refusalOf(error: unknown, { host, port, setting }: Port): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const where = `Port ${String(port)} of ${host}`;
  return new ConfigurationRefused(
    code === 'EADDRINUSE'
      ? `${where} is in use by another process. Set ${setting} to another port, or to 0 for any that is free.`
      : `${where} cannot be opened (${code}). Set ${setting === 'STAFF_PORT' ? 'STAFF_HOST' : 'HOST'} or ${setting} to another one.`,
  );
}

/** An address that works on this machine. */
export function localUrl({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(PORT)}`;
}
