import { z } from 'zod';
import { listJobDays } from '../../../../projections/job-days.ts';
import { readQueueAndWorkers } from '../../../../projections/queries/operation.ts';
import { listOf, type View } from '../view.ts';

const waitingBy = z.strictObject({ name: z.string(), waiting: z.int(), oldest: z.iso.datetime() });

/** What workers say about themselves. One of another version may say less, or something else. */
const about = z.object({
  host: z.string().optional(),
  slots: z.int().optional(),
  sandbox: z.string().optional(),
  guards: z.array(z.object({ guard: z.string(), state: z.string() })).default([]),
  versions: z.record(z.string(), z.string().nullable()).default({}),
});

export const shownWork = z.strictObject({
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

/** The queue, the workers, and how downloads end: two statements. */
export const work: View<object, Work> = {
  input: z.object({}),
  read: async ({ pool, now, queueAnswers }) => {
    const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const nowMs = Date.parse(now());
    const [{ queue, workers }, days, answers] = await Promise.all([
      readQueueAndWorkers(pool, { maxWorkers }),
      listJobDays(pool, { from: dayOf(nowMs - (daysShown - 1) * dayMs), to: dayOf(nowMs) }),
      queueAnswers(),
    ]);
    return {
      queue: {
        answers,
        ...queue,
        accounts: queue.accounts.map(({ name, ...waits }) => ({ account_id: name, ...waits })),
      },
      workers: workers.map((worker) => ({ ...worker, about: about.safeParse(worker.about).data ?? null })),
      days,
    };
  },
};
