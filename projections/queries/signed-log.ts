import type { SignedLog } from '../../src/proof/proof-file.ts';
import { nodesOf, readLeafOf, readNewestHead } from '../proofs.ts';
import type { Queryable } from '../runner/rows.ts';

/** The newest signed head, and the tree below it. @returns undefined before the first head */
export async function readSignedLog(client: Queryable): Promise<SignedLog | undefined> {
  const head = await readNewestHead(client);
  if (!head) return undefined;
  const { size, note: checkpoint } = head;
  const indexOf = async (eventId: string) => {
    const leaf = await readLeafOf(client, eventId);
    return leaf && leaf.leaf_index < size ? leaf.leaf_index : undefined;
  };
  return { checkpoint, size, indexOf, readNodes: nodesOf(client) };
}
