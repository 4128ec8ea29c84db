import type { EventStoreDBClient } from '@eventstore/db-client';
import { beforeAll, expect, it } from 'vitest';
import { within } from '../cli/command-line.ts';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { withOfficialClient } from '../support/official-client.ts';
import { planFile } from '../support/plans.ts';
import type { ServiceProcess } from '../support/service.ts';

/** What hides events of a stream from the service is a divergence, although the whole log still has them. */
const prefix = 'reeltally-';
const installation = installationOfFile({
  EVENTSTORE_PREFIX: prefix,
  PLANS_FILE: planFile({ downloads_limit: 0, overage_cents: 5 }),
});
let api: ServiceProcess;

beforeAll(async () => {
  await installation.startRole('projector');
  api = await installation.startRole('api');
});

interface Verdict {
  verdict: string;
  divergences: { divergences: { rule: string; stream: string; found: string }[] }[];
}

async function verify(...options: string[]): Promise<Verdict> {
  const { stdout } = await within(installation.environment)('ledger', 'verify', ...options, '--json');
  return JSON.parse(stdout) as Verdict;
}

it.for([
  ['$tb', (client: EventStoreDBClient, stream: string) => client.setStreamMetadata(stream, { truncateBefore: 2 })],
  ['$maxCount', (client: EventStoreDBClient, stream: string) => client.setStreamMetadata(stream, { maxCount: 1 })],
  ['$maxAge', (client: EventStoreDBClient, stream: string) => client.setStreamMetadata(stream, { maxAge: 3_600 })],
  ['$tb', (client: EventStoreDBClient, stream: string) => client.deleteStream(stream)],
] as const)('a usage stream with %s is named by each form of the audit', async ([name, hide]) => {
  const account = await installation.openAccount();
  for (let number = 0; number < 3; number += 1) {
    const body = { url: installation.sampleUrl('bars') };
    expect((await call(api.url, '/video/download', { ...account, body })).status).toBe(202);
  }
  const show = ['accounts', 'show', account.accountId];
  const { period_start: start } = await installation.cli<{ period_start: string }>(show);
  const stream = `usage-${account.accountId}-${start.slice(0, 10).replaceAll('-', '')}`;
  expect(await verify('--account', account.accountId)).toMatchObject({ verdict: 'verified' });

  await withOfficialClient(installation.environment.EVENTSTORE_URL, (client) => hide(client, prefix + stream));
  const named = expect.objectContaining({
    rule: 'stream_truncated',
    stream,
    found: expect.stringContaining(name) as string,
  }) as object;
  for (const options of [[], ['--account', account.accountId]]) {
    const { verdict, divergences } = await verify(...options);
    expect({ options, verdict, named: divergences.flatMap((of) => of.divergences) }).toEqual({
      options,
      verdict: 'divergences',
      named: expect.arrayContaining([named]) as unknown,
    });
  }
});
