import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import { createLocalFileStore, type LocalFileStore } from '../../../src/adapters/files/local-file-store.ts';
import type { SigningKey } from '../../../src/adapters/files/signed-links.ts';
import { limitConnections } from '../../../src/http/files/connections-per-link.ts';
import { registerFileRoute } from '../../../src/http/files/file-route.ts';
import { IdleReaders } from '../../../src/http/files/idle-readers.ts';
import { noPlatformRules } from '../../../src/ports/platform-rules.ts';
import { readSendQueues } from '../../../src/system/send-queues.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const downloadBaseUrl = 'http://files.example';

export function signingKey(id: string): SigningKey {
  return { id, key: createSecretKey(randomBytes(32)) };
}

export interface ServedStore {
  directory: string;
  store: LocalFileStore;
  server: FastifyInstance;
  /** The server's time; changed by tests that wait for an expiry. */
  clock: { nowMs: number };
  /** SHA-256 of what is served, hexadecimal; undefined where nobody knows it. */
  digest: string | undefined;
}

/** A store in a fresh directory, behind a real HTTP route. */
export function serveLocalStore(keys: { current: SigningKey; others: SigningKey[] }): ServedStore {
  const directory = temporaryDirectory();
  const store = createLocalFileStore({
    directory,
    downloadBaseUrl: () => downloadBaseUrl,
    signingKeys: keys,
    nonce: randomUUID,
  });
  const clock = { nowMs: Date.now() };
  const server = Fastify();
  const served: ServedStore = { directory, store, server, clock, digest: undefined };
  registerFileRoute(server, {
    files: store,
    nowMs: () => clock.nowMs,
    digestOf: async () => served.digest,
    rules: noPlatformRules,
    takePlace: limitConnections({ perLink: 8, perAddress: 64 }),
    readers: new IdleReaders({ limitSeconds: 30, sendQueues: readSendQueues }),
  });
  return served;
}
