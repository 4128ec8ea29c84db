import { handle } from '../../src/commands/handler/handle-command.ts';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { patienceMs } from '../support/wait-for.ts';
import { ask, freshCause, type UsageAccount, writersOf } from './usage-account.ts';

/** Ends the periods of an account that are over. @param now UTC ISO-8601 */
export const endPeriods = (store: EventStore, account: UsageAccount, now: string) =>
  ask(
    writersOf(store, () => now),
    account,
    { kind: 'roll_over' },
  );

/** Ends the first period of an account, and closes it. @param now UTC ISO-8601 */
export async function endAndClose(store: EventStore, account: UsageAccount, now: string): Promise<void> {
  await endPeriods(store, account, now);
  await closeBooks(store, account.stream, now);
}

/** Closes a period whose end is in the log, with no grace and no gate. @param now UTC ISO-8601 */
export async function closeBooks(store: EventStore, stream: string, now: string): Promise<void> {
  const closed = await handle(
    store,
    { stream, initial: () => initialClosing, parse: parseUsageEvent, evolve: evolveClosing },
    {
      decide: (state, at) => decideClosing(state, 0, at),
      cause: freshCause(),
      now: () => now,
      timeoutMs: patienceMs,
    },
  );
  if (isRefused(closed)) throw new Error(`${stream} was not closed: ${closed.refusal}`);
}
