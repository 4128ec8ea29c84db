import type { Pool } from 'pg';
import { beginClosing } from '../../../projections/due-periods.ts';
import { checkpointAt, dispatchCheckpoint, writeCheckpoint } from '../../../projections/runner/checkpoints.ts';
import { readAccount } from '../../commands/accounts.ts';
import { accountIdOf } from '../../commands/reference-ids.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { Connections } from '../connect.ts';
import { bundledPlansFile, type Config } from '../settings/config.ts';
import { createTokens, type Secrets } from '../settings/secrets.ts';
import { demoKeyLabel } from './prepare-demo.ts';
import { scriptOf, startOfDay, type Step, todayOf } from './script.ts';
import { story } from './story.ts';
import { tellCustomer } from './tell-customer.ts';
import { countEvents } from './told-so-far.ts';

const dayMs = 86_400_000;

/** Not with the operator's own servers, nor with other plans than those that the story was written for. */
export const hasStory = ({ DEMO, allEmbedded, PLANS_FILE }: Config): boolean =>
  allEmbedded && DEMO !== 'empty' && PLANS_FILE === bundledPlansFile;

/**
 * Tells the story of `story.ts` into an empty log, or completes one that was interrupted. It comes before the dispatcher
 * starts, which so closes, returns, mails and dispatches nothing of it.
 *
 * @returns the account of the start screen; undefined where the log holds anything else
 */
export async function tellStory(
  { config, store, pool, clock }: Connections,
  { secrets, progress, abandoned }: { secrets: Secrets; progress: (step: string) => void; abandoned: AbortSignal },
): Promise<string | undefined> {
  const accountIds = story.map(({ reference }) => accountIdOf(reference));
  const shown = accountIdOf(story[0].reference);
  const { keys } = await readAccount(store, shown);
  // A start shows its key when the story is over.
  if ([...keys.values()].some(({ label }) => label === demoKeyLabel)) return shown;
  const counts = await countEvents(store, accountIds);
  if (!counts) return undefined;
  const nowMs = Date.parse(clock.now());
  const todayMs = (await findToday(store)) ?? startOfDay(nowMs);
  const day = { todayMs, presentMs: Math.min(nowMs, startOfDay(todayMs + dayMs) - 1) };
  const step = percentOf(
    story.reduce((sum, customer) => sum + countSteps(scriptOf(customer, day)), 0),
    progress,
  );
  const telling = {
    ...day,
    store,
    plans: config.plans,
    tokens: createTokens(secrets),
    closings: { begin: (stream: string) => beginClosing(pool, stream) },
    counts,
    progress: () => {
      abandoned.throwIfAborted();
      step();
    },
  };
  // Side by side, and none of them is under way any more when one has failed.
  const told = await Promise.allSettled(story.map((customer) => tellCustomer(customer, telling)));
  for (const one of told) if (one.status === 'rejected') throw one.reason;
  await passOver(pool, store);
  return shown;
}

/** Tells the dispatcher that nothing of the story waits for a worker, nor for the return of a failure. */
async function passOver(pool: Pool, store: EventStore): Promise<void> {
  const head = await store.headPosition();
  if (head === undefined) return;
  await writeCheckpoint(pool, dispatchCheckpoint, checkpointAt(head));
}

/** The last day of a story that was begun: it may be completed on a later day. */
async function findToday(store: EventStore): Promise<number | undefined> {
  for (const customer of story) {
    const { opened } = await readAccount(store, accountIdOf(customer.reference));
    if (opened) return todayOf(customer, opened.period_start);
  }
  return undefined;
}

/** Each ordinary download is a step of its own when its job is worked. */
const countSteps = (script: readonly Step[]): number =>
  script.reduce((sum, step) => sum + 1 + (step.what === 'ordinary requests' ? step.downloads.length : 0), 0);

/** @returns a function to call at each step */
function percentOf(total: number, progress: (step: string) => void): () => void {
  let taken = 0;
  let shown = -1;
  return () => {
    const percent = Math.floor((100 * taken) / total);
    taken += 1;
    if (percent === shown) return;
    shown = percent;
    progress(`telling the story of the demo: ${String(percent)} %`);
  };
}
