import { parseTreeHeadEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import { type TreeHeadEvent, type TreeHeadSigned, treeHeadsStream } from '../domain/tree-head-events.ts';
import {
  decideNewOrigin,
  decideTreeHead,
  evolveTreeHeads,
  initialTreeHeads,
  nextOrigin,
  type TreeHeads,
} from '../domain/tree-heads.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { AccountRequest } from './accounts.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { ownCause } from './handler/event-metadata.ts';
import { type Aggregate, beforeRevision, handle, load, type Loaded } from './handler/handle-command.ts';

const treeHeads = (known?: Loaded<TreeHeads>): Aggregate<TreeHeads, TreeHeadEvent> => ({
  stream: treeHeadsStream,
  initial: () => initialTreeHeads,
  parse: parseTreeHeadEvent,
  evolve: evolveTreeHeads,
  ...(known && { known }),
});

/**
 * Reads the newest head from the log.
 *
 * @param revision of a head, from which it is read on: each head says all that the next one needs
 * @returns undefined if the log has no head at that revision
 * @throws {EventStoreUnavailable}
 */
export async function loadTreeHeads(
  store: EventStore,
  revision: number | undefined,
): Promise<Loaded<TreeHeads> | undefined> {
  if (revision === undefined) return await load(store, treeHeads());
  const [head] = (await store.read(treeHeadsStream, revision, 1)).map(parseTreeHeadEvent);
  if (head?.event.type !== 'TreeHeadSigned') return undefined;
  return await load(store, treeHeads(beforeRevision(revision, initialTreeHeads)));
}

const signTimeoutMs = 5_000;

/**
 * Appends a signed head, unless another one was faster.
 *
 * @param signed from: the heads that it follows
 * @returns whether this head was appended
 * @throws {ClockIsWrong | NotStored | OutcomeUnknown}
 */
export async function appendTreeHead(
  { store, now, newUuid }: CommandDependencies,
  { from, head }: { from: Loaded<TreeHeads>; head: TreeHeadSigned },
): Promise<boolean> {
  const handled = await handle(store, treeHeads(from), {
    decide: (state) => decideTreeHead(state, { from: from.state, head }),
    cause: ownCause(newUuid(), { type: 'system', id: 'tree-heads' }),
    now,
    timeoutMs: signTimeoutMs,
  });
  return !isRefused(handled) && handled.events.length > 0;
}

/**
 * Goes on under another name, after an older backup was restored that contradicts heads which others have.
 *
 * @param request base: the name that the new one begins with, if no head has one
 * @returns the new name, which has the time in it; undefined if no name is known to begin with
 */
export async function beginTreeOrigin(
  { store, now, newUuid }: CommandDependencies,
  { base, actor, correlationId, timeoutMs }: { base: string | undefined } & AccountRequest,
): Promise<string | undefined> {
  const { state } = await load(store, treeHeads());
  const before = state.origin ?? base;
  if (before === undefined) return undefined;
  const origin = nextOrigin(before, now());
  const handled = await handle(store, treeHeads(), {
    decide: (current) => decideNewOrigin(current, origin),
    cause: ownCause(newUuid(), actor, correlationId),
    now,
    timeoutMs,
  });
  if (isRefused(handled)) throw new Error(`a new origin was refused: ${handled.refusal}`);
  return origin;
}
