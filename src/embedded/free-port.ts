import { once } from 'node:events';
import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 that was free a moment ago; another process may take it first. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === undefined) throw new Error('No TCP port of 127.0.0.1 is free.');
  return port;
}

/** @param port undefined: any will do. @throws when it is taken */
export async function requireFreePort(port: number | undefined, program: string): Promise<void> {
  if (port === undefined || (await isPortFree(port))) return;
  throw new Error(`Port ${port} of 127.0.0.1 is taken: ${program} cannot listen there.`);
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

/** Listens for a moment; undefined when that is not possible. */
async function listenOnce(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const address = server.address();
  server.close();
  await once(server, 'close');
  return address !== null && typeof address === 'object' ? address.port : undefined;
}
