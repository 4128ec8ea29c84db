import { z } from 'zod';
import { listJobDays } from '../../../../projections/job-days.ts';
import { readWork } from '../../../../projections/queries/operation.ts';
import { listOf, type View } from '../view.ts';
import { readParts, shownParts } from './parts.ts';

const waitingBy = z.strictObject({ name: z.string(), waiting: z.int(), oldest: z.iso.datetime() });

/** What workers say about themselves. One of another version may say less, or something else. */
const about = z.object({
  host: z.string().optional(),
  slots: z.int().optional(),
  sandbox: z.string().optional(),
  guards: z.array(z.object({ guard: z.string(), state: z.string() })).default([]),
  versions: z.record(z.string(), z.string().nullable()).default({}),
  notices: z.array(z.string()).default([]),
});

export const shownWork = z.strictObject({
  parts: shownParts,
  queue: z.strictObject({
    answers: z
      .boolean()
      .describe('False while NATS does not answer: downloads are accepted and wait, and those under way go on.'),
    waiting: z.int(),
    is_more: z.boolean().describe('More wait than were counted.'),
    oldest: z.iso.datetime().nullable(),
    platforms: z.array(waitingBy),
    accounts: z
      .array(waitingBy.omit({ name: true }).extend({ account_id: z.string() }))
      .describe('Those with the most.'),
  }),
  workers: z.array(
    z.strictObject({
      worker_id: z.string(),
      quiet_seconds: z
        .number()
        .nullable()
        .describe('Since its newest beat; null: it is lost, and its jobs are released.'),
      about: about.nullable(),
      jobs: z.array(
        z.strictObject({
          token: z.string(),
          account_id: z.string(),
          platform: z.string(),
          status: z.enum(['claimed', 'running']),
          claimed_at: z.iso.datetime(),
        }),
      ),
    }),
  ),
  hours: listOf('The downloads of the last 24 hours that are done, at most the newest 20 000, by the hour: seconds.', {
    hour: z.iso.datetime(),
    downloads: z.int(),
    waited_median: z.number().describe('From the request to the start of the attempt that succeeded.'),
    waited_p95: z.number(),
    ran_median: z.number(),
    ran_p95: z.number(),
  }),
  days: listOf('How downloads ended, on each UTC day of the last 30.', {
    day: z.iso.date(),
    platform: z.string(),
    outcome: z.string().describe('`done`, or the reason of the failure.'),
    downloads: z.int(),
  }),
});

export type Work = z.infer<typeof shownWork>;

const maxWorkers = 200;
export const daysShown = 30;
const dayMs = 86_400_000;

/** The queue, the workers, how long downloads take, and how they end: two statements. */
export const work: View<object, Work> = {
  input: z.object({}),
  read: async (dependencies) => {
    const { pool, now, queueAnswers } = dependencies;
    const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const nowMs = Date.parse(now());
    const [{ queue, hours, ...found }, days, answers] = await Promise.all([
      readWork(pool, { maxWorkers, since: new Date(nowMs - dayMs).toISOString() }),
      listJobDays(pool, { from: dayOf(nowMs - (daysShown - 1) * dayMs), to: dayOf(nowMs) }),
      queueAnswers(),
    ]);
    const workers = found.workers.map((worker) => ({ ...worker, about: about.safeParse(worker.about).data ?? null }));
    const beating = workers.flatMap(({ worker_id: id, quiet_seconds: quiet, about: said }) =>
      quiet !== null && quiet < 60 ? [{ host: said?.host ?? id, notices: said?.notices ?? [] }] : [],
    );
    const accounts = queue.accounts.map(({ name, ...waits }) => ({ account_id: name, ...waits }));
    return {
      parts: await readParts(dependencies, beating),
      queue: { answers, ...queue, accounts },
      workers,
      hours,
      days,
    };
  },
};
