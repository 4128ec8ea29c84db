import { createServer } from 'node:net';
import { listen } from './listen.ts';

/** For a server whose port must be known before it starts. */
export async function freePort(): Promise<number> {
  const { port, close } = await listen(createServer());
  await close();
  return port;
}
