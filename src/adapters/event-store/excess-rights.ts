/**
 * Finds the rights that the event store gives this process and the service does not need.
 *
 * Each right is found by an order that changes nothing, whatever the answer: for a stream that never exists, at a revision that
 * it cannot have. The server looks at the rights first. It answers "access denied", or else "wrong expected version".
 */

import type { EventStoreDBClient } from '@eventstore/db-client';
import { withDeadline } from '../../async/deadline.ts';
import type { Connection } from './connection.ts';
import { isAccessDenied, isWrongExpectedVersion } from './errors.ts';

/** With the last one a user is an administrator. */
export type ExcessRight = 'delete streams' | 'write metadata of streams' | 'delete system streams';

const impossible = { expectedRevision: BigInt(Number.MAX_SAFE_INTEGER) };

const orders: Readonly<Record<ExcessRight, (client: EventStoreDBClient, stream: string) => Promise<unknown>>> = {
  'delete streams': (client, stream) => client.deleteStream(stream, impossible),
  'write metadata of streams': (client, stream) => client.appendToStream(`$$${stream}`, [], impossible),
  'delete system streams': (client, stream) => client.deleteStream(`$${stream}`, impossible),
};

/**
 * @param stream its name in the log; it never exists
 * @throws an error if a right cannot be found out in time
 */
export async function findExcessRights(
  connection: Connection,
  stream: string,
  timeoutMs: number,
): Promise<ExcessRight[]> {
  const late = () => {
    throw new Error(`No answer within ${String(timeoutMs)} ms.`);
  };
  const deadlineMs = performance.now() + timeoutMs;
  if (!(await connection.whenReady(deadlineMs))) return late();
  const { client } = connection;
  const rights = Object.keys(orders) as ExcessRight[];
  const finding = Promise.all(rights.map((right) => isHeld(orders[right](client, stream))));
  const held = await withDeadline(finding, deadlineMs - performance.now(), late);
  return rights.filter((_right, index) => held[index]);
}

async function isHeld(ordered: Promise<unknown>): Promise<boolean> {
  try {
    await ordered;
  } catch (error) {
    if (isAccessDenied(error)) return false;
    if (!isWrongExpectedVersion(error)) throw error;
  }
  return true;
}
