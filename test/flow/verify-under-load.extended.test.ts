import { beforeAll, expect, it } from 'vitest';
import { within } from '../cli/command-line.ts';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import type { OpenedAccount, ServiceProcess } from '../support/service.ts';
import { pauseOfClient } from '../support/wait-for.ts';

/** Books that are right are never called wrong: while accounts are charged, projectors replaced, and read models rebuilt. */
const installation = installationOfFile({
  PLANS_FILE: planFile({ downloads_limit: 20, overage_cents: 5, fee_cents: 100, hourly_limit: 10_000 }),
});
let api: ServiceProcess;
let dispatcher: ServiceProcess;

beforeAll(async () => {
  await installation.startRole('projector');
  dispatcher = await installation.startRole('dispatcher');
  api = await installation.startRole('api');
});

interface Verdict {
  verdict: string;
  divergences: unknown[];
}

it('every form of ledger verify says that they agree, or that it could not be found out', async () => {
  const accounts = [await installation.openAccount(), await installation.openAccount()] as const;
  const show = ['accounts', 'show', accounts[0].accountId];
  const { period_start: start } = await installation.cli<{ period_start: string }>(show);
  const run = within(installation.environment);
  const verify = async (...options: string[]) => {
    const { stdout } = await run('ledger', 'verify', ...options, '--json');
    return { options, ...(JSON.parse(stdout) as Verdict) };
  };
  let isOver = false;
  const charge = async (account: OpenedAccount) => {
    while (!isOver) {
      const body = { url: installation.sampleUrl('bars') };
      expect((await call(api.url, '/video/download', { ...account, body })).status).toBe(202);
      await pauseOfClient();
    }
  };
  const charging = [accounts[0], accounts[0], accounts[1]].map(charge);
  const rebuilding = (async () => {
    while (!isOver) await run('projections', 'rebuild', 'usage_and_jobs');
  })();
  try {
    for (let turn = 0; turn < scaled(1, 30); turn += 1)
      for (const options of [[], ['--account', accounts[0].accountId], ['--period', start.slice(0, 10)]]) {
        const { divergences, verdict } = await verify(...options);
        expect({ options, divergences }).toEqual({ options, divergences: [] });
        expect(['verified', 'not_verified']).toContain(verdict);
      }
  } finally {
    isOver = true;
    await Promise.all([...charging, rebuilding]);
  }
  expect(await verify()).toMatchObject({ verdict: 'verified' });
  expect(dispatcher.log()).not.toContain('found a divergence');
});
