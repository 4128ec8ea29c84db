import type { FastifyInstance } from 'fastify';
import { ConfigurationRefused } from './config.ts';
import type { Config } from './config.ts';

/** @returns the address listened at. @throws {ConfigurationRefused} when the port cannot be opened */
export async function listen(
  server: FastifyInstance,
  { host, port, setting }: { host: string; port: number; setting: string },
): Promise<string> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const where = `Port ${String(port)} of ${host}`;
    throw new ConfigurationRefused(
      code === 'EADDRINUSE'
        ? `${where} is taken by another program. Set ${setting} to another one.`
        : `${where} cannot be opened (${code}). Set HOST or ${setting} to another one.`,
    );
  }
  const address = server.server.address();
  return localUrl({ HOST: host, PORT: typeof address === 'object' && address ? address.port : port });
}

/** An address that works on this machine. */
export function localUrl({ HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): string {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(PORT)}`;
}
