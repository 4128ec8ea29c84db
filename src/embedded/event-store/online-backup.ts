/**
 * Copies the log to another file while the server takes appends: a call of our own beside EventStoreDB's, for the user that may
 * also read and write the log. Another server answers it with UNIMPLEMENTED.
 */

import { chmodSync } from 'node:fs';
import { backup, type DatabaseSync } from 'node:sqlite';
import {
  Client,
  credentials,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
  status,
} from '@grpc/grpc-js';
import { rpcError } from './wire-errors.ts';

interface BackupRequest {
  /** Absolute path of the copy, which the server makes. */
  file: string;
}
type BackupResponse = Record<string, never>;

const toBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const method: MethodDefinition<BackupRequest, BackupResponse> = {
  path: '/reeltally.EmbeddedEventStore/BackUp',
  requestStream: false,
  responseStream: false,
  requestSerialize: toBytes,
  requestDeserialize: (bytes) => JSON.parse(bytes.toString()) as BackupRequest,
  responseSerialize: toBytes,
  responseDeserialize: () => ({}),
};

export const backupService = { backUp: method };

/** Pages of a step. Appends are taken between two steps; SQLite brings pages that they change into the copy, too. */
const pagesOfStep = 256;

/** The copy is the log at the end of the call: every append that was answered before the call is in it. */
export function backUp(
  database: DatabaseSync,
  call: ServerUnaryCall<BackupRequest, BackupResponse>,
  callback: sendUnaryData<BackupResponse>,
): void {
  const { file } = call.request;
  backup(database, file, { rate: pagesOfStep })
    .then(() => {
      chmodSync(file, 0o600);
      callback(null, {});
    })
    .catch((error: unknown) => {
      callback(rpcError(status.INTERNAL, error instanceof Error ? error.message : String(error)));
    });
}

/**
 * Asks the server at an address to copy its log.
 *
 * @param url such as `esdb://127.0.0.1:2113?tls=false`
 * @throws if the server cannot, or is no embedded event store
 */
export async function requestBackup(url: string, file: string): Promise<void> {
  const client = new Client(new URL(url).host, credentials.createInsecure());
  try {
    await new Promise<void>((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = method;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { file }, (error) => {
        if (error === null) resolve();
        else reject(new Error(error.details, { cause: error }));
      });
    });
  } finally {
    client.close();
  }
}
