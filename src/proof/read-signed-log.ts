import type { WholeLog } from '../ports/event-store.ts';
import { nodesOfNextLeaf, type ReadNode } from './merkle-tree.ts';
import { NotProvable, type SignedLog } from './proof-file.ts';

/** The events whose hashes are the entries of the signed log, in the order of the event log. */
const entryTypes: ReadonlySet<string> = new Set(['UsagePeriodClosed', 'InvoiceIssued', 'CreditNoteIssued']);
/** Stream of the signed heads. */
const headsStream = 'tree-heads';
const pageEvents = 5_000;

/**
 * The newest signed head, and its tree, made again from the whole event log.
 *
 * @throws {NotProvable} while no head is signed
 * @throws {EventStoreUnavailable}
 */
export async function readSignedLog(store: WholeLog): Promise<SignedLog> {
  const newest = (await store.read(headsStream, 0)).findLast(({ type }) => type === 'TreeHeadSigned');
  if (!newest) throw new NotProvable('no head of the log is signed yet', true);
  const { size, note: checkpoint } = newest.data as { size: number; note: string };
  const nodes = new Map<string, Buffer>();
  const indexes = new Map<string, number>();
  const readNode: ReadNode = async (level, index) => {
    const node = nodes.get(`${String(level)} ${String(index)}`);
    if (!node) throw new Error(`the signed log has no node ${String(index)} of level ${String(level)}`);
    return node;
  };
  for (let after = -1n; indexes.size < size;) {
    const page = await store.readAll(after, pageEvents);
    const last = page.at(-1);
    if (!last) throw new Error(`the event log has fewer entries than its signed head, ${String(size)}`);
    for (const { metadata } of page.filter(({ type }) => entryTypes.has(type)).slice(0, size - indexes.size)) {
      const { hash } = metadata as { hash: string };
      for (const { level, index, hash: node } of await nodesOfNextLeaf(
        indexes.size,
        Buffer.from(hash, 'hex'),
        readNode,
      ))
        nodes.set(`${String(level)} ${String(index)}`, node);
      indexes.set(hash, indexes.size);
    }
    after = last.position;
  }
  return { checkpoint, size, indexOf: async (hash) => indexes.get(hash), readNode };
}
