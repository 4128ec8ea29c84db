import type { Logger } from 'pino';
import type { AuditReport, ShownDivergence } from '../../projections/queries/audit-state.ts';
import { runInBackground } from '../async/background.ts';
import { sleep } from '../async/sleep.ts';
import type { ReadModelQueries } from '../audit/compare/comparison.ts';
import { readAcknowledged, Verifier } from '../audit/compare/verifier.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import type { WholeLog } from '../ports/event-store.ts';
import { servicePart, type ServiceParts } from '../ports/service-parts.ts';

/** State of the continuous audit, for the metrics. */
export interface AuditState {
  /** Events verified since this process began to lead. */
  events: number;
  /** New divergences, until everything was verified again from the start without them. */
  divergences: number;
  /** Divergences that were acknowledged. */
  known: number;
  /** When everything up to that time had been verified, in milliseconds of `performance.now()`; before, when it began. */
  caughtUpMs: number;
}

export interface AuditDependencies {
  log: WholeLog;
  queries: ReadModelQueries;
  logger: Logger;
  serviceParts?: ServiceParts;
  /** Keeps what it says for those who show it: after each look, and meanwhile as often. */
  record: (said: AuditReport) => Promise<void>;
  /** The clock of business time, for what is recorded. */
  now: () => string;
  /** Between two looks at the log. Default 10 s. */
  lookEveryMs?: number;
  /** After a new divergence, before it begins anew to see whether it was mended. Default 1 min. */
  startOverMs?: number;
  /**
   * After it began, before it begins anew to see whether verified rows were changed since: at least so long, and ten times as long
   * as it takes to reach the end of the log. Default 1 day.
   */
  lookAgainMs?: number;
  /** How long something that the service makes by itself may be missing before it is a divergence. Default 10 min. */
  missingForMs?: number;
}

/** It works for a tenth of the time, and in small pieces: whoever shares the process or the machine does not notice. */
const restShare = 9;
const pageEvents = 200;
/** At most so many divergences are logged per look. */
const mostLogged = 20;

/** Follows the log for as long as this process leads, and verifies what `ledger verify` does. */
export function auditContinuously({
  log,
  queries,
  logger,
  serviceParts,
  record,
  now,
  lookEveryMs = 10_000,
  startOverMs = 60_000,
  lookAgainMs = 86_400_000,
  missingForMs = 600_000,
}: AuditDependencies): { state: AuditState; stop: () => Promise<void> } {
  const part = servicePart({ serviceParts, logger }, 'the audit');
  const state: AuditState = { events: 0, divergences: 0, known: 0, caughtUpMs: performance.now() };
  const logged = new Set<string>();
  const tell = ({ divergences }: Verifier) => {
    Object.assign(state, { divergences: divergences.counts.new, known: divergences.counts.known });
    if (divergences.counts.new === 0) logged.clear();
    const all = divergences.list().flatMap((account) => account.divergences);
    const unsaid = all.filter(({ id, known }) => !known && !logged.has(id)).slice(0, mostLogged);
    for (const { known: _known, ...divergence } of unsaid) {
      logged.add(divergence.id);
      logger.error(divergence, 'the audit found a divergence: a value does not follow from the log');
    }
  };
  const { stop } = runInBackground(async (signal) => {
    const pause = (ms: number) => sleep(ms, signal);
    let divergences: ShownDivergence[] = [];
    let notices: readonly object[] = [];
    let position: string | null = null;
    let verifier: Verifier | undefined;
    let begunMs = 0;
    /** Undefined until this verifier has reached the end of the log. */
    let againAtMs: number | undefined;
    let recordedMs = -Infinity;
    const say = async ({ isWhole }: { isWhole: boolean }) => {
      recordedMs = performance.now();
      const { events, divergences: unknown, known } = state;
      const caughtUpAt = isWhole ? (timeUnlessWrong(now) ?? null) : null;
      await record({ events, position, unknown, known, divergences, notices, isWhole, caughtUpAt });
    };
    const rest = async (tookMs: number) => {
      // A long look tells what it finds at once. What was found before stands until it has ended.
      if (verifier && verifier.divergences.counts.new > state.divergences) found(verifier);
      if (performance.now() - recordedMs >= lookEveryMs) await say({ isWhole: false });
      await pause(tookMs * restShare);
      signal.throwIfAborted();
    };
    const progress = (made: { events: number; position: bigint }) => {
      state.events = made.events;
      position = String(made.position);
    };
    const found = (of: Verifier) => {
      tell(of);
      notices = of.replay.notices;
      const all = of.divergences.list().flatMap((account) => account.divergences.map(shown));
      // The first of them are kept.
      divergences = [...all.filter(({ acknowledged }) => !acknowledged), ...all.filter((each) => each.acknowledged)];
    };
    const begin = async () => {
      [begunMs, againAtMs] = [performance.now(), undefined];
      return new Verifier(
        { log, queries, pageEvents, missingForMs, signal, rest, progress },
        await readAcknowledged(log),
      );
    };
    do {
      try {
        verifier ??= await begin();
        await verifier.catchUp();
        found(verifier);
        state.events = verifier.replay.events;
        position = verifier.position < 0n ? null : String(verifier.position);
        const nowMs = performance.now();
        againAtMs ??= begunMs + Math.max(lookAgainMs, (nowMs - begunMs) * (restShare + 1));
        if (state.divergences === 0) state.caughtUpMs = nowMs;
        if (state.divergences > 0 || nowMs >= againAtMs) verifier = undefined;
        await say({ isWhole: true });
        part.works();
        await pause(state.divergences > 0 ? startOverMs : lookEveryMs);
      } catch (error) {
        if (signal.aborted) return;
        if (verifier && verifier.divergences.counts.new > state.divergences) found(verifier);
        part.failed('a look at the log', error);
        if (verifier?.isUsable === false) verifier = undefined;
        await pause(lookEveryMs);
      }
    } while (!signal.aborted);
  });
  return { state, stop };
}

type Divergence = NonNullable<ReturnType<Verifier['divergences']['find']>>;

const shown = ({ id, known, ...facts }: Divergence): ShownDivergence => ({ name: id, acknowledged: known, facts });

/** The audit needs no clock: while it is wrong, what it says keeps the time before. */
function timeUnlessWrong(now: () => string): string | undefined {
  try {
    return now();
  } catch (error) {
    if (error instanceof ClockIsWrong) return undefined;
    throw error;
  }
}
