import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { clockOffset } from '../support/clock-offset.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';
import { downloadsOf, standing } from './charged-downloads.ts';

/**
 * Requests that are repeated with their Idempotency-Key, over two processes of which one is killed, with clients that hang
 * up, and over the end of a billing period: each key is charged once, and answered in one way.
 */
const installation = installationOfFile({ PLANS_FILE: planFile({ hourly_limit: 2_000, downloads_limit: 100_000 }) });
beforeAll(() => installation.allowShiftedClock());

beforeAll(() => installation.startRole('projector'));

const apiKeys = scaled(2, 12);
const nextMonth = clockOffset(32 * 86_400);

interface Send {
  idempotencyKey: string;
  period: 'this' | 'next';
  api: 0 | 1;
  /** When the client hangs up, if it does. */
  hangsUpAfterMs: number | undefined;
  /** At the same time as the one before it. */
  together: boolean;
}

const sendsOf = fc.array(
  fc.record({
    period: fc.constantFrom('this', 'next'),
    api: fc.constantFrom(0, 1),
    hangsUpAfterMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 25 }) },
    ),
    together: fc.boolean(),
  }),
  { minLength: 1, maxLength: 20, size: 'max' },
);

async function openAccount() {
  const { accountId, key } = await installation.openAccount();
  const keys = [key];
  while (keys.length < apiKeys) keys.push((await installation.cli<{ key: string }>(['keys', 'issue', accountId])).key);
  return { accountId, keys };
}

/** The two processes; whoever sends to one that is being killed finds nobody. */
type Apis = [ServiceProcess, ServiceProcess];
const startApis = (environment: Record<string, string>): Promise<Apis> =>
  Promise.all([installation.startRole('api', environment), installation.startRole('api', environment)]);

/** @returns status and body; undefined where there was no answer */
async function send(api: ServiceProcess, key: string, { idempotencyKey, hangsUpAfterMs }: Send) {
  try {
    const response = await fetch(`${api.url}/api/v1/video/download`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'Idempotency-Key': idempotencyKey,
      },
      body: JSON.stringify({ url: installation.sampleUrl('private') }),
      ...(hangsUpAfterMs !== undefined && { signal: AbortSignal.timeout(hangsUpAfterMs) }),
    });
    return { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
}

test('each key is charged once, and answered in one way', async () => {
  const total = scaled(40, 1_000);
  const { accountId, keys } = await openAccount();
  const plan = fc.sample(sendsOf, total).map((sends, index): Send[] => {
    // The first one of a key is as likely to be early as late: some keys are new in the second period.
    const idempotencyKey = `order-${String(index)}`;
    return sends.map((each) => ({ ...each, idempotencyKey }));
  });
  const bodies = new Map<string, Set<string>>();
  const seen = { sends: 0, answered: 0, without: 0, others: new Map<string, number>() };

  const sendOne = async (apis: Apis, each: Send, index: number) => {
    const answer = await send(apis[each.api], keys[index % keys.length] ?? '', each);
    seen.sends += 1;
    if (!answer) seen.without += 1;
    else if (answer.status !== 202) seen.others.set(answer.text, (seen.others.get(answer.text) ?? 0) + 1);
    else {
      seen.answered += 1;
      bodies.set(each.idempotencyKey, (bodies.get(each.idempotencyKey) ?? new Set()).add(answer.text));
    }
  };
  /** The sends of one key, one after another or side by side, as they come. */
  const sendAll = async (apis: Apis, sends: readonly Send[], index: number) => {
    const underWay: Promise<void>[] = [];
    for (const each of sends) {
      if (!each.together) await Promise.all(underWay.splice(0));
      underWay.push(sendOne(apis, each, index));
    }
    await Promise.all(underWay);
  };
  const writers = 32;
  for (const period of ['this', 'next'] as const) {
    const apis = await startApis(period === 'this' ? {} : nextMonth);
    let next = 0;
    const killAt = period === 'this' || isLongProof ? [Math.floor(total / 3)] : [];
    if (isLongProof) killAt.push(Math.floor((2 * total) / 3));
    const work = async () => {
      for (let index = next; index < total; index = next) {
        next += 1;
        // While the others go on: what it was doing is lost, and so are the answers.
        if (killAt.includes(index)) {
          await apis[0].kill();
          apis[0] = await installation.startRole('api', period === 'this' ? {} : nextMonth);
        }
        await sendAll(
          apis,
          (plan[index] ?? []).filter((each) => each.period === period),
          index,
        );
      }
    };
    await Promise.all(Array.from({ length: writers }, work));
    if (period === 'next') {
      const last = { api: 1, period, hangsUpAfterMs: undefined, together: false } as const;
      for (let index = 0; index < total; index += 1)
        await sendOne(apis, { ...last, idempotencyKey: `order-${String(index)}` }, index);
    }
    await Promise.all(apis.map((api) => api.stop()));
  }

  const downloads = await downloadsOf(installation.environment.EVENTSTORE_URL, accountId);
  if (isLongProof)
    console.log(
      `seed ${process.env['PROOF_SEED'] ?? ''}: ${String(total)} keys, ${JSON.stringify({ ...seen, others: [...seen.others] })}, ${String(downloads.length)} downloads`,
    );
  expect([...seen.others]).toEqual([]);
  expect(downloads).toHaveLength(total);
  for (let index = 0; index < total; index += 1) {
    const idempotencyKey = `order-${String(index)}`;
    const [token, ...more] = standing(downloads, idempotencyKey);
    expect(more).toEqual([]);
    const [body, ...otherBodies] = bodies.get(idempotencyKey) ?? [];
    expect(otherBodies).toEqual([]);
    expect(JSON.parse(body ?? '{}')).toMatchObject({ success: true, data: { request_token: token } });
  }
});
