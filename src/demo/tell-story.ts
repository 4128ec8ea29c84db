import { checkpointAt, dispatchCheckpoint, writeCheckpoint } from '../../projections/runner/checkpoints.ts';
import { beginClosing } from '../../projections/work-lists/pending-void-gate.ts';
import { readAccount } from '../commands/accounts.ts';
import { accountIdOf } from '../commands/ids/reference-ids.ts';
import type { RequestTokens } from '../commands/ids/request-token.ts';
import type { EventStore } from '../ports/event-store.ts';
import { readTimes } from './log-of-story.ts';
import { type DemoDependencies, demoKeyLabel } from './prepare-demo.ts';
import { dayMs, lastDayOf, scriptOf } from './script.ts';
import { story } from './story.ts';
import { tellCustomer } from './tell-customer.ts';

/**
 * Tells the story of `story.ts` into an empty log, or completes one that was interrupted. It comes before the dispatcher
 * starts, which so closes, returns, mails and dispatches nothing of it.
 *
 * @returns the account of the start screen; undefined where the log holds anything else
 */
export async function tellStory(
  demo: DemoDependencies,
  { tokens, progress, abandoned }: { tokens: RequestTokens; progress: (step: string) => void; abandoned: AbortSignal },
): Promise<string | undefined> {
  const { store, pool } = demo;
  const ofStartScreen = accountIdOf(story[0].reference);
  const { keys } = await readAccount(store, ofStartScreen);
  // A start shows its key when the story is over.
  if ([...keys.values()].some(({ label }) => label === demoKeyLabel)) return ofStartScreen;
  const accountIds = story.map(({ reference }) => accountIdOf(reference));
  const newestMs = await readTimes(store, accountIds);
  if (!newestMs) return undefined;
  const presentMs = Date.parse(demo.now());
  // Yesterday: each step of the story has its time, and none of them lies in the future.
  const lastDayMs = (await findLastDay(store)) ?? presentMs - (presentMs % dayMs) - dayMs;
  const steps = story.flatMap((customer) => scriptOf(customer, lastDayMs));
  const downloads = steps.flatMap((step) => (step.what === 'requests' ? step.downloads : []));
  const step = percentOf(steps.length + downloads.length, progress);
  const telling = {
    ...demo,
    tokens,
    closings: { begin: (stream: string) => beginClosing(pool, stream) },
    lastDayMs,
    presentMs,
    newestMs,
    progress: () => {
      abandoned.throwIfAborted();
      step();
    },
  };
  // Side by side, and none of them is under way any more when one has failed.
  const customers = await Promise.allSettled(story.map((customer) => tellCustomer(customer, telling)));
  for (const customer of customers) if (customer.status === 'rejected') throw customer.reason;
  // The dispatcher begins after the story, of which nothing waits for a worker, nor for the return of a failure.
  const head = await store.headPosition();
  if (head !== undefined) await writeCheckpoint(pool, dispatchCheckpoint, checkpointAt(head));
  return ofStartScreen;
}

/** The last day of a story that was begun: it may be completed on a later day. */
async function findLastDay(store: EventStore): Promise<number | undefined> {
  for (const customer of story) {
    const { opened } = await readAccount(store, accountIdOf(customer.reference));
    if (opened) return lastDayOf(customer, opened.period_start);
  }
  return undefined;
}

/** @returns a function to call at each step */
function percentOf(total: number, progress: (step: string) => void): () => void {
  let taken = 0;
  let newest = -1;
  return () => {
    const percent = Math.floor((100 * taken) / total);
    taken += 1;
    if (percent === newest) return;
    newest = percent;
    progress(`telling the story of the demo: ${String(percent)} %`);
  };
}
