import { expect, it } from 'vitest';
import { Divergences } from '../../src/audit/rules/divergence.ts';
import { Replay } from '../../src/audit/rules/replay.ts';
import { jobStream } from '../../src/domain/download-job-events.ts';
import type { DomainEvent } from '../../src/domain/parse-event.ts';
import { accountId, credited, opened, plan, planChanged, token } from '../domain/usage-examples.ts';
import { EventLog } from '../simulation/event-log.ts';
import { connectToLog } from '../simulation/event-log-client.ts';
import { perfectNetwork } from '../simulation/perfect-network.ts';
import { SimulatedProcess } from '../simulation/process.ts';
import { ChainedLog } from './chained-log.ts';
import { Random } from './random.ts';

const usage = `usage-${accountId}-20261101`;
const openedAt = '2026-11-01T00:00:00.000Z';
const actor = { type: 'system', id: 'test' } as const;

/** The rules that a log breaks two hours after a download was failed by the service, and its account's plan was changed. */
async function brokenRules(
  before: boolean,
  after: boolean,
  order: readonly ('failure' | 'change')[],
): Promise<string[]> {
  const log = new EventLog();
  const chained = new ChainedLog(connectToLog(log, new SimulatedProcess('test'), perfectNetwork), new Random(1));
  const append = (stream: string, ...events: DomainEvent[]) =>
    chained.append(stream, events, {
      actor,
      now: stream.startsWith('account-') ? openedAt : '2026-11-14T12:00:00.000Z',
    });
  const terms = { ...plan, service_failures_returned: before, warning_percents: [] };
  const { data } = opened({ ...terms });
  const period = { anchor_day: data.anchor_day, period_start: data.period_start, period_end: data.period_end };
  const account = { account_id: accountId, terms: { ...terms, fee_cents: 0 }, personal: { email: 'a@b.example' } };
  await append(`account-${accountId}`, { type: 'AccountOpened', data: { ...account, ...period } });
  await append(usage, opened({ ...terms, fee_cents: 0 }));
  await append(usage, ...credited(1));
  const job = { token: token(1), worker_id: 'wrk_aaaaaaaaaaaaaaaa' };
  const claim = { ...job, account_id: accountId, attempt: 1, usage_stream: usage, usage_revision: 2 };
  await append(jobStream(token(1)), { type: 'JobClaimed', data: claim });
  const steps = {
    failure: () =>
      append(jobStream(token(1)), {
        type: 'JobFailed',
        data: { token: token(1), reason: 'unsupported_media', fault: 'service' },
      }),
    change: () => append(usage, planChanged({ ...terms, fee_cents: 0, service_failures_returned: after })),
  };
  for (const step of order) await steps[step]();
  const divergences = new Divergences();
  const ignore = () => undefined;
  const observer = { usageChanged: ignore, accountChanged: ignore, accountHeadMoved: ignore, periodChanged: ignore };
  const replay = new Replay(
    async (stream) => [...log.read(stream)],
    divergences.report,
    () => ({
      ...observer,
      jobEventRecorded: ignore,
      jobChanged: ignore,
      invoiced: ignore,
      documentMailsAsked: ignore,
      documentMailed: ignore,
    }),
  );
  for (const event of log.readAll()) await replay.apply(event);
  await replay.completeness.check('2026-11-14T14:00:00.000Z', 100n, () => true);
  return divergences.list().flatMap(({ divergences: found }) => found.map(({ rule }) => rule));
}

it('a failure of the service is to be given back if the terms of that time say so', async () => {
  expect(await brokenRules(true, true, ['failure', 'change'])).toEqual(['service_failure_returned']);
  expect(await brokenRules(false, true, ['change', 'failure'])).toEqual(['service_failure_returned']);
});

it('a failure that the terms of that time have kept is not owed after a change to other terms', async () => {
  expect(await brokenRules(false, true, ['failure', 'change'])).toEqual([]);
});
