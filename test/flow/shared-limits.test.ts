import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import type { Answer } from '../support/client.ts';
import { startInstallation } from '../support/installation.ts';
import type { Installation } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { readUsageStream } from '../support/log.ts';
import type { ServiceProcess } from '../support/service.ts';

/** What holds over any number of API processes: the cap to the cent, the hourly limit to the request. */
let installation: Installation;
let apis: [ServiceProcess, ServiceProcess];

beforeAll(async () => {
  installation = await startInstallation({
    PLANS_FILE: planFile({ hourly_limit: 5_000, downloads_limit: included, overage_cents: rateCents }),
  });
  await installation.startRole('projector');
  apis = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
}, 60_000);

afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const requests = 1_000;
const included = 100;
const rateCents = 7;

/** All at once, spread over both processes. */
function race(count: number, send: (api: string, index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => send(apis[index % 2 === 0 ? 0 : 1].url, index)));
}

const withStatus = (answers: readonly Answer[], status: number) => answers.filter((answer) => answer.status === status);

describe('concurrent downloads on an account with room for K more', () => {
  test('are accepted exactly K times, and log and credits agree to the cent', { timeout: 120_000 }, async () => {
    const room = 237;
    const { accountId, key } = await installation.openAccount();
    // A cent more than the room is room for none more.
    await installation.cli(['accounts', 'cap', accountId, String(room * rateCents + rateCents - 1)]);
    const body = { url: installation.sampleUrl('private') };

    const answers = await race(requests, (api) => call(api, '/video/download', { key, body }));
    const accepted = withStatus(answers, 202);
    const refused = withStatus(answers, 402);
    expect(accepted).toHaveLength(included + room);
    expect(accepted.filter(({ data }) => data['overage'] === true)).toHaveLength(room);
    expect(refused).toHaveLength(requests - included - room);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['overage_cap_reached']));

    for (const api of apis) {
      const { data } = await call(api.url, '/credits', { key });
      expect(data['overage']).toEqual({ downloads: room, cents: room * rateCents });
      expect(data['downloads']).toEqual({ limit: included, used: included, remaining: 0 });
    }
    const events = await readUsageStream(installation.environment['EVENTSTORE_URL'] ?? '', accountId);
    const charged = events
      .filter(({ type }) => type === 'OverageCharged')
      .map(({ data }) => data as { cents: number; token: string });
    expect(charged.reduce((sum, { cents }) => sum + cents, 0)).toBe(room * rateCents);
    const queued = events
      .filter(({ type }) => type === 'DownloadQueued')
      .map(({ data }) => (data as { token: string }).token);
    expect(queued.sort()).toEqual(accepted.map(({ data }) => data['request_token'] as string).sort());

    // The command fails unless its rows are the log's, one by one.
    const ledger = await installation.cli<{ total_cents: number; rows: { event_id: string }[] }>([
      ...['ledger', 'show', accountId],
    ]);
    expect(ledger.total_cents).toBe(room * rateCents);
    const isCharge = ({ type }: { type: string }) => ['OverageCharged', 'DownloadCreditDebited'].includes(type);
    expect(ledger.rows.map(({ event_id: id }) => id)).toEqual(events.filter(isCharge).map(({ id }) => id));
  });
});

describe('concurrent requests of one key', () => {
  test('are admitted up to exactly its hourly limit', { timeout: 60_000 }, async () => {
    const { accountId, key } = await installation.openAccount();
    await installation.cli(['accounts', 'plan', accountId, 'scale_2000'], { PLANS_FILE: '' });
    const answers = await race(requests, (api) => call(api, '/credits', { key }));
    expect(withStatus(answers, 200)).toHaveLength(120);
    expect(withStatus(answers, 429)).toHaveLength(requests - 120);
    const remaining = withStatus(answers, 200).map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
    expect(remaining.sort((one, other) => one - other)).toEqual(Array.from({ length: 120 }, (_, index) => index));
    for (const { headers } of withStatus(answers, 429))
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(3_500);
  });
});
