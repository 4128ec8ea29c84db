import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to outgoing connections, one of which could take the port before its server listens. */
const firstPort = 10_000;
const lastPort = 32_767;
const attempts = 100;

/** A TCP port of 127.0.0.1 that was free a moment ago; another server may take it first. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = randomInt(firstPort, lastPort + 1);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`No TCP port of 127.0.0.1 from ${String(firstPort)} to ${String(lastPort)} is free.`);
}

/** @param port undefined: any will do. @throws when it is taken */
export async function requireFreePort(port: number | undefined, program: string): Promise<void> {
  if (port === undefined || (await isPortFree(port))) return;
  throw new Error(`Port ${port} of 127.0.0.1 is taken: ${program} cannot listen there.`);
}

/** Listens on a port for a moment. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
