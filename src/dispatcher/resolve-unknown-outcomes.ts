import type { Background } from '../async/background.ts';
import { unlessAborted } from '../async/deadline.ts';
import { changeCharge } from '../commands/change-charge.ts';
import type { Cause } from '../commands/handler/event-metadata.ts';
import { type JobDependencies, recordJobProgress } from '../commands/record-job-progress.ts';
import { isRefused } from '../domain/refusals.ts';
import type { PendingVoid, PendingVoidCharge, PendingVoids } from '../ports/billing.ts';
import type { EventToAppend } from '../ports/event-store.ts';
import type { VoidObserver } from '../ports/observers.ts';
import { servicePart } from '../ports/service-parts.ts';
import { type InRound, type LoopDependencies, startLoop } from './repeat.ts';

interface ResolveDependencies extends JobDependencies, LoopDependencies {
  pendingVoids: PendingVoids;
  voids?: VoidObserver;
}

const defaultEveryMs = 1_000;
const maxListed = 1_000;
const maxUnderWay = 16;
const stepTimeoutMs = 10_000;

/**
 * Resolves pending voids. Sends each append again, the identical bytes, until its outcome is known; voids the charge if it turns
 * out to be stored; ends its job; and only then forgets the pending void. Each step may be repeated, by this process after a
 * crash or by two at once: the log shows the steps that are done, and they are not done again.
 */
export function startResolving(dependencies: ResolveDependencies): Background {
  const underWay = new Map<string, Promise<void>>();
  const resolving = { ...dependencies, part: servicePart(dependencies, 'the end of unknown outcomes') };
  const looking = startLoop(
    'the resolving of unknown outcomes',
    dependencies,
    (_looking, stopping) => look(resolving, underWay, stopping),
    defaultEveryMs,
  );
  return {
    stop: async () => {
      await looking.stop();
      await Promise.all(underWay.values());
    },
  };
}

/** Begins with what waits, some at a time. One that does not come to an end, or fails, does not keep the others waiting. */
async function look(
  dependencies: InRound<ResolveDependencies>,
  underWay: Map<string, Promise<void>>,
  stopping: AbortSignal,
): Promise<void> {
  const { pendingVoids, part, now } = dependencies;
  // With a wrong clock nothing is appended, not even what was decided with a right one.
  now();
  // What is listed may end before this process has the list: such a row is left to the next look.
  const begun = new Set(underWay.keys());
  for (const pending of await pendingVoids.list(maxListed)) {
    const { stream, events } = pending.append;
    const appendId = events[0]?.id ?? '';
    if (begun.has(appendId)) continue;
    while (underWay.size >= maxUnderWay && !stopping.aborted)
      await unlessAborted(Promise.race(underWay.values()), stopping, () => undefined);
    if (stopping.aborted) return;
    const resolving = resolve(dependencies, pending, stopping)
      .then(() => {
        part.works();
      })
      .catch((error: unknown) => {
        part.failed('an unknown outcome', error, { stream, append: appendId });
      })
      .finally(() => underWay.delete(appendId));
    underWay.set(appendId, resolving);
  }
}

async function resolve(dependencies: ResolveDependencies, pending: PendingVoid, stopping: AbortSignal): Promise<void> {
  const { store, pendingVoids, logger, voids } = dependencies;
  const { stream, expected, events } = pending.append;
  // It goes on being resent when this process stops waiting.
  const outcome = await unlessAborted(store.append(stream, expected, events), stopping, () => undefined);
  if (outcome !== 'stored' && outcome !== 'conflict') return;
  for (const charge of pending.voids) {
    const { mac: _mac, ...said } = charge;
    const became = outcome === 'conflict' ? 'not_stored' : await takeBack(dependencies, pending, charge);
    voids?.unknownOutcomeResolved(became);
    logger.info({ stream, ...said, became }, 'an unknown outcome is resolved');
  }
  await pendingVoids.remove(pending);
}

/** @returns `confirmed` for a download that a client has been told of meanwhile: it stays */
async function takeBack(
  dependencies: ResolveDependencies,
  { append: { stream, expected, events } }: PendingVoid,
  charge: PendingVoidCharge,
): Promise<'voided' | 'confirmed'> {
  const { store, now, newUuid } = dependencies;
  const cause = causeOf(events, charge);
  const corrected = await changeCharge(
    { store, now },
    {
      stream,
      command:
        charge.kind === 'download'
          ? { kind: 'void_download', token: charge.token, promised: charge.promised }
          : { kind: 'void_lookup', lookupId: charge.lookup_id, promised: charge.promised },
      fromRevision: expected === 'no_stream' ? 0 : expected + 1,
      cause: { ...cause, commandId: newUuid() },
      timeoutMs: stepTimeoutMs,
    },
  );
  if (isRefused(corrected)) {
    if (corrected.refusal === 'download_confirmed') return 'confirmed';
    throw new Error(`a charge of ${stream} cannot be voided: ${corrected.refusal}`);
  }
  if (charge.kind === 'download') {
    const step = { kind: 'void', token: charge.token } as const;
    await recordJobProgress(dependencies, step, { ...cause, timeoutMs: stepTimeoutMs });
  }
  return 'voided';
}

/** The cause of the void: the event that charged, and the request behind it. */
function causeOf(events: readonly EventToAppend[], charge: PendingVoidCharge): Omit<Cause, 'commandId'> {
  const charged = events.find(({ data }) =>
    charge.kind === 'download' ? data['token'] === charge.token : data['lookup_id'] === charge.lookup_id,
  );
  if (!charged) throw new Error('a pending void has a charge that is not in its append');
  const { $correlationId, $traceparent } = charged.metadata as { $correlationId: string; $traceparent?: string };
  return {
    correlationId: $correlationId,
    causationId: charged.id,
    actor: { type: 'system', id: 'resolver' },
    traceparent: $traceparent,
  };
}
