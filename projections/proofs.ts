import type { PoolClient } from 'pg';
import { parseInvoiceEvent, parseTreeHeadEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import { isTreeLeaf, type TreeHeadSigned, treeHeadsStream } from '../src/domain/tree-head-events.ts';
import type { RecordedEvent } from '../src/ports/event-store.ts';
import { type Frontier, type NodePlace, readFrontier, type ReadNodes, withNextLeaf } from '../src/proof/merkle-tree.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import type { Queryable } from './runner/rows.ts';
import { insertRows } from './write-rows.ts';

/**
 * The log of what was closed and invoiced, as a Merkle tree: tables `proof_leaves` and `proof_nodes`. Table `proof_heads` has its
 * signed heads: all that is served, because the rest may still be refused.
 */
export const proofs: RebuildableProjection = {
  name: 'proofs',
  tables: ['proof_leaves', 'proof_nodes', 'proof_heads'],
  streamPrefixes: ['usage-', 'invoices-', treeHeadsStream],
  start: () => async (events, client) => {
    await addLeaves(events.filter(isTreeLeaf), client);
    await insertRows(client, 'proof_heads', events.flatMap(headRow));
  },
};

async function addLeaves(events: readonly RecordedEvent[], client: PoolClient): Promise<void> {
  if (events.length === 0) return;
  let tree: Frontier = await readFrontier(await countLeaves(client), nodesOf(client));
  const leaves: object[] = [];
  const nodes: object[] = [];
  for (const event of events) {
    const row = leafRow(event, tree.size);
    leaves.push(row);
    const grown = withNextLeaf(tree, Buffer.from(row.hash, 'hex'));
    for (const { level, index, hash } of grown.nodes)
      nodes.push({ level, node_index: index, hash: hash.toString('hex') });
    tree = grown;
  }
  await insertRows(client, 'proof_leaves', leaves);
  await insertRows(client, 'proof_nodes', nodes);
}

function leafRow(event: RecordedEvent, leafIndex: number) {
  const parse = event.stream.startsWith('usage-') ? parseUsageEvent : parseInvoiceEvent;
  const { metadata, stream, revision, id, position } = parse(event);
  return {
    leaf_index: leafIndex,
    hash: metadata.hash,
    type: event.type,
    stream,
    revision,
    event_id: id,
    position: position.toString(),
  };
}

function headRow(recorded: RecordedEvent) {
  if (recorded.stream !== treeHeadsStream) return [];
  const { event, metadata, revision, position } = parseTreeHeadEvent(recorded);
  if (event.type !== 'TreeHeadSigned') return [];
  const { frontier: _, ...head } = event.data;
  return [{ ...head, revision, position: position.toString(), time: metadata.time }];
}

/** A leaf of the tree, and the event that has its hash. */
export interface ProofLeaf {
  leaf_index: number;
  /** Hexadecimal. */
  hash: string;
  type: string;
  stream: string;
  revision: number;
  event_id: string;
  /** Commit position of the log, in digits, because it may exceed the safe integers. */
  position: string;
}

/** How many leaves the tree has now. */
export async function countLeaves(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ size: number }>(
    'select coalesce(max(leaf_index) + 1, 0)::float8 as size from proof_leaves',
  );
  return rows[0]?.size ?? 0;
}

/** Leaves in their order. @param from index of the first @param to index before which they end */
export async function readLeaves(client: Queryable, { from, to }: { from: number; to: number }): Promise<ProofLeaf[]> {
  const { rows } = await client.query<ProofLeaf>(
    `select leaf_index::float8, hash, type, stream, revision::float8, event_id, position::text from proof_leaves l
     where leaf_index >= $1 and leaf_index < $2 order by l.leaf_index`,
    [from, to],
  );
  return rows;
}

/** The leaf of an event. @returns undefined if it has none, or the read model is behind */
export async function readLeafOf(client: Queryable, eventId: string): Promise<ProofLeaf | undefined> {
  const { rows } = await client.query<ProofLeaf>(
    `select leaf_index::float8, hash, type, stream, revision::float8, event_id, position::text from proof_leaves
     where event_id = $1`,
    [eventId],
  );
  return rows[0];
}

/** Reads nodes of the tree for `rootOf` and for proofs, by one statement. @throws for a node that the tree does not have */
export const nodesOf =
  (client: Queryable): ReadNodes =>
  async (places) => {
    const { rows } = await client.query<{ hash: string | null }>(
      `select hash from unnest($1::smallint[], $2::bigint[]) with ordinality asked (level, node_index, place)
       left join proof_nodes using (level, node_index) order by place`,
      [places.map(({ level }) => level), places.map(({ index }) => index)],
    );
    return rows.map(({ hash }, at) => {
      if (hash === null) throw new Error(`the tree has no node ${nodeName(places[at])}`);
      return Buffer.from(hash, 'hex');
    });
  };

const nodeName = (place?: NodePlace) => `${String(place?.index)} of level ${String(place?.level)}`;

/** Nodes of one level in their order, from an index on. */
export async function readNodeRow(
  client: Queryable,
  { level, from, count }: { level: number; from: number; count: number },
): Promise<Buffer[]> {
  const { rows } = await client.query<{ hash: string }>(
    `select hash from proof_nodes where level = $1 and node_index >= $2 and node_index < $3 order by node_index`,
    [level, from, from + count],
  );
  return rows.map(({ hash }) => Buffer.from(hash, 'hex'));
}

/** A signed head, with the revision of its event. */
export interface ProofHead extends Omit<TreeHeadSigned, 'frontier'> {
  revision: number;
  /** UTC ISO-8601. */
  time: string;
}

/** The newest signed head. @returns undefined before the first */
export async function readNewestHead(client: Queryable): Promise<ProofHead | undefined> {
  const { rows } = await client.query<ProofHead>(
    `select size::float8, origin, root, note, key, revision::float8, time from proof_heads h order by h.size desc limit 1`,
  );
  return rows[0];
}

export interface HeadForEvent {
  /** Signed note. */
  note: string;
  /** Whether the head has the event's leaf below it. */
  covers: boolean;
}

/** The newest signed head, for an event that it may cover. @returns undefined before the first head */
export async function readHeadFor(client: Queryable, eventId: string): Promise<HeadForEvent | undefined> {
  const { rows } = await client.query<HeadForEvent>(
    `select note, coalesce(h.size > (select leaf_index from proof_leaves where event_id = $1), false) as covers
     from proof_heads h order by h.size desc limit 1`,
    [eventId],
  );
  return rows[0];
}

/** The head of a size, if one was signed. */
export async function readHeadOfSize(client: Queryable, size: number): Promise<ProofHead | undefined> {
  const { rows } = await client.query<ProofHead>(
    `select size::float8, origin, root, note, key, revision::float8, time from proof_heads where size = $1`,
    [size],
  );
  return rows[0];
}

/** Every public key that has signed a head, the newest first. */
export async function listProofKeys(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ key: string }>(
    'select key from proof_heads group by key order by max(size) desc',
  );
  return rows.map(({ key }) => key);
}
