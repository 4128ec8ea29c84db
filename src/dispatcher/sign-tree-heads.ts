import { createHash } from 'node:crypto';
import pMap from 'p-map';
import type { Pool } from 'pg';
import {
  countLeaves,
  nodesOf,
  type ProofLeaf,
  readHeadOfSize,
  readLeaves,
  readNewestHead,
} from '../../projections/proofs.ts';
import type { Background } from '../async/background.ts';
import type { CommandDependencies } from '../commands/handler/dependencies.ts';
import { appendTreeHead, loadTreeHeads } from '../commands/tree-heads.ts';
import { parseTreeHeadEvent } from '../domain/parse-event.ts';
import { type TreeHeadSigned, treeHeadsStream } from '../domain/tree-head-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { FileStore } from '../ports/files.ts';
import { openCheckpoint, signCheckpoint, type TreeHead } from '../proof/checkpoint.ts';
import { emptyFrontier, type Frontier, rootOf, rootOfFrontier, withNextLeaf } from '../proof/merkle-tree.ts';
import { publicKeyOf, publicKeyText, type Signer } from '../proof/signed-note.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

/** How far the heads have come, for `/readyz` and the metrics. */
export interface SigningState {
  /** Why nothing is signed; undefined while all is well. */
  refused: string | undefined;
  /** Leaves that no head covers yet. */
  unsigned: number;
}

export interface SignTreeHeadsDependencies extends CommandDependencies, LoopDependencies {
  pool: Pool;
  /** Has the newest note of each origin, out of reach of log and Postgres. */
  files: Pick<FileStore, 'readNote' | 'keepNote'>;
  /** Name of the log until its first head. */
  origin: string;
  signerFor: (origin: string) => Signer;
}

/** The log, the tree in Postgres and the kept note contradict each other. A person has to find out why. */
export class SigningRefused extends Error {
  override readonly name = 'SigningRefused';
}

const defaultEveryMs = 3_000;
const leavesAtOnce = 2_000;
const readsAtOnce = 16;

/**
 * Signs a head a few seconds after the tree has grown: one for all that it has grown by meanwhile. Two processes may do so at
 * once: a head is appended at the exact revision, and follows from the log alone.
 */
export function startSigningTreeHeads(
  dependencies: SignTreeHeadsDependencies,
): Background & { state: Readonly<SigningState> } {
  const state: SigningState = { refused: undefined, unsigned: 0 };
  const round = async ({ part }: InRound<SignTreeHeadsDependencies>) => {
    try {
      state.unsigned = await signTreeHead(dependencies);
      state.refused = undefined;
    } catch (error) {
      if (!(error instanceof SigningRefused)) throw error;
      state.refused = error.message;
      part.failed('the signing of a head', error);
    }
  };
  return Object.assign(startLoop('the signing of heads', dependencies, round, defaultEveryMs), { state });
}

/**
 * One round.
 *
 * @returns how many leaves are still not covered by a head
 * @throws {SigningRefused}
 * @throws what log, Postgres and file store throw
 */
export async function signTreeHead(dependencies: SignTreeHeadsDependencies): Promise<number> {
  const { store, pool, files, origin: firstOrigin, signerFor } = dependencies;
  const row = await readNewestHead(pool);
  const from = await loadTreeHeads(store, row?.revision);
  if (!from) throw new SigningRefused(`the log has no head at revision ${String(row?.revision)}, which Postgres has`);
  const { newest, origin = firstOrigin } = from.state;
  const signer = signerFor(origin);
  await requireKeptNote(dependencies, { newest, origin, signer });
  const size = await countLeaves(pool);
  if (size <= (newest?.size ?? 0)) return 0;
  const frontier = await followLeaves(dependencies, frontierOf(newest), size);
  const root = rootOfFrontier(frontier);
  if (!root.equals(await rootOf(size, nodesOf(pool))))
    throw new SigningRefused(`the nodes of the tree of ${String(size)} in Postgres do not follow from its leaves`);
  const note = signCheckpoint({ size, root }, signer);
  const head: TreeHeadSigned = {
    origin,
    size,
    root: root.toString('hex'),
    note,
    key: publicKeyText(signer.publicKey),
    frontier: frontier.hashes.map((hash) => hash.toString('hex')),
  };
  // Kept before anything else is signed: what others may have seen is never forgotten.
  if (await appendTreeHead(dependencies, { from, head })) await files.keepNote(noteName(origin), note);
  return (await countLeaves(pool)) - size;
}

const frontierOf = (newest: TreeHeadSigned | undefined): Frontier =>
  newest ? { size: newest.size, hashes: newest.frontier.map((hash) => Buffer.from(hash, 'hex')) } : emptyFrontier;

/** Adds the leaves of Postgres up to a size, each compared with its event in the log. */
async function followLeaves(
  { store, pool }: Pick<SignTreeHeadsDependencies, 'store' | 'pool'>,
  newest: Frontier,
  size: number,
): Promise<Frontier> {
  let frontier = newest;
  // With the last leaf of the newest head: those that follow stand behind it.
  let before: ProofLeaf | undefined = (await readLeaves(pool, { from: newest.size - 1, to: newest.size }))[0];
  if (before) await requireEvent(store, before);
  while (frontier.size < size) {
    const leaves = await readLeaves(pool, { from: frontier.size, to: Math.min(size, frontier.size + leavesAtOnce) });
    await pMap(leaves, (leaf) => requireEvent(store, leaf), { concurrency: readsAtOnce });
    if (leaves.length === 0) throw new SigningRefused(`Postgres has no leaf ${String(frontier.size)} of the tree`);
    for (const leaf of leaves) {
      if (leaf.leaf_index !== frontier.size)
        throw new SigningRefused(`Postgres has no leaf ${String(frontier.size)} of the tree`);
      if (before && BigInt(leaf.position) <= BigInt(before.position))
        throw new SigningRefused(`leaf ${String(leaf.leaf_index)} of the tree does not stand behind the one before it`);
      frontier = withNextLeaf(frontier, Buffer.from(leaf.hash, 'hex'));
      before = leaf;
    }
  }
  return frontier;
}

async function requireEvent(store: EventStore, leaf: ProofLeaf): Promise<void> {
  const [event] = await store.read(leaf.stream, leaf.revision, 1);
  const { hash } = Object(event?.metadata) as { hash?: unknown };
  const isSame =
    event?.revision === leaf.revision &&
    event.type === leaf.type &&
    event.id === leaf.event_id &&
    String(event.position) === leaf.position &&
    hash === leaf.hash;
  if (!isSame)
    throw new SigningRefused(
      `leaf ${String(leaf.leaf_index)} of the tree is not event ${String(leaf.revision)} of ${leaf.stream}`,
    );
}

/**
 * Compares the log with the newest note that was kept outside of it: an older backup that was restored lacks heads that others
 * have seen. Keeps the newest note of the log where the kept one is older, as after a crash.
 */
async function requireKeptNote(
  { store, pool, files }: SignTreeHeadsDependencies,
  { newest, origin, signer }: { newest: TreeHeadSigned | undefined; origin: string; signer: Signer },
): Promise<void> {
  const name = noteName(origin);
  const note = await files.readNote(name);
  // Under a new origin nothing was signed yet.
  const known = newest?.origin === origin ? newest : undefined;
  if (note === known?.note) return;
  if (note !== undefined) {
    const kept = openCheckpoint(note, [signer.publicKey, ...keysOf(known), ...(await keyOfNote(pool, note))]);
    if (!kept) throw new SigningRefused(`the kept note ${name} is not signed by a key of this log`);
    if (!(await hasHead(store, pool, kept)))
      throw new SigningRefused(
        `the log has no head of the size and root of the kept note ${name} (${String(kept.size)} leaves): is it an older backup? See "proofs new-origin"`,
      );
  }
  if (known) await files.keepNote(name, known.note);
}

const keysOf = (head: Pick<TreeHeadSigned, 'key'> | undefined) => {
  const key = head && publicKeyOf(head.key);
  return key ? [key] : [];
};

/** The key of the head of that size, which an older key has signed. */
async function keyOfNote(pool: Pool, note: string) {
  const size = Number(note.split('\n', 2)[1]);
  return Number.isSafeInteger(size) ? keysOf(await readHeadOfSize(pool, size)) : [];
}

/** Whether the log has a head of this size and root. Postgres only says where it stands. */
async function hasHead(store: EventStore, pool: Pool, { size, root }: TreeHead): Promise<boolean> {
  const row = await readHeadOfSize(pool, size);
  if (!row) return false;
  const [head] = (await store.read(treeHeadsStream, row.revision, 1)).map(parseTreeHeadEvent);
  const { event } = head ?? {};
  return event?.type === 'TreeHeadSigned' && event.data.size === size && event.data.root === root.toString('hex');
}

/** The name under which the newest note of an origin is kept. */
export const noteName = (origin: string): string =>
  `checkpoint-${createHash('sha256').update(origin).digest('hex').slice(0, 16)}`;
