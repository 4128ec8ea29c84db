import { rmSync } from 'node:fs';
import { connect, type NatsConnection } from 'nats';
import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import type { RunningServer } from '../../src/embedded/server-process.ts';
import { givenEngines } from './given-engines.ts';
import { makeDataDirectory } from './temporary-directory.ts';

export interface TestNatsServer extends RunningServer, AsyncDisposable {
  /** Where it keeps its messages: for tests that start it again after killing it. */
  dataDirectory: string;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/**
 * A nats-server of the caller's own. It starts in a tenth of a second, and the names of streams and consumers are the same in
 * every instance of the service, so test files that shared a server would meet each other's messages.
 */
export async function startNatsServer(): Promise<TestNatsServer> {
  if (givenEngines.natsUrl !== undefined) return givenNatsServer(givenEngines.natsUrl);
  const dataDirectory = makeDataDirectory();
  const remove = async (): Promise<void> => {
    await server.stop();
    rmSync(dataDirectory, { recursive: true, force: true });
  };
  const server = await launchNatsServer({ dataDirectory }).catch((error: unknown) => {
    rmSync(dataDirectory, { recursive: true, force: true });
    throw error;
  });
  return { ...server, dataDirectory, remove, [Symbol.asyncDispose]: remove };
}

/** Takes the messages out that tests have put into a server, with their stream. */
export async function emptyNatsServer(url: string): Promise<void> {
  const connection = await connectTo(url);
  const { streams } = await connection.jetstreamManager();
  for await (const { config } of streams.list()) if (config.name === 'DOWNLOADS') await streams.delete(config.name);
  await connection.close();
}

/** Somebody else's server, which is left running. */
async function givenNatsServer(url: string): Promise<TestNatsServer> {
  const empty = () => emptyNatsServer(url);
  await empty();
  const exited = new Promise<never>(() => undefined);
  const stop = () => Promise.reject(new Error('This nats-server is not ours to stop.'));
  return { url, pid: -1, logFile: '', exited, stop, dataDirectory: '', remove: empty, [Symbol.asyncDispose]: empty };
}

/** Connects with the user name and password that stand in the address. */
export function connectTo(url: string): Promise<NatsConnection> {
  const { host, username, password } = new URL(url);
  const credentials = username === '' ? {} : { user: username, pass: decodeURIComponent(password) };
  return connect({ servers: host, reconnect: false, ...credentials });
}
