import { rmSync } from 'node:fs';
import { connect } from 'nats';
import type { NatsConnection } from 'nats';

import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import type { RunningServer } from '../../src/embedded/kept-process.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

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
  const dataDirectory = makeTemporaryDirectory();
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

/** Connects with the user name and password that stand in the address. */
export function connectTo(url: string): Promise<NatsConnection> {
  const { host, username, password } = new URL(url);
  return connect({ servers: host, user: username, pass: decodeURIComponent(password), reconnect: false });
}
