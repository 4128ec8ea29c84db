import { beforeAll, expect, it } from 'vitest';
import { projections as allProjections } from '../../projections/all.ts';
import { within } from '../cli/command-line.ts';
import { call } from '../support/client.ts';
import { queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';
import { pauseOfClient } from '../support/wait-for.ts';

const hourlyLimit = 4;

/** Every read model is rebuilt, again and again, while clients go on asking: none of them notices. */
const installation = installationOfFile({
  PLANS_FILE: planFile({ hourly_limit: 10_000, overage_cents: 5 }, { plan: 'small', hourly_limit: hourlyLimit }),
  // Here one client asks with a revoked key, over and over.
  UNAUTHENTICATED_HOURLY_LIMIT: '100000',
});
let api: ServiceProcess;

beforeAll(async () => {
  await installation.startRole('projector');
  api = await installation.startRole('api');
});

it('while everything is rebuilt, every request is answered as always', async () => {
  const [busy, revoked] = [await installation.openAccount(), await installation.openAccount()];
  const full = await installation.openAccount('small');
  await installation.cli(['keys', 'revoke', revoked.keyId]);
  for (let request = 0; request < hourlyLimit; request += 1) {
    expect((await call(api.url, '/credits', full)).status).toBe(200);
  }

  let isDone = false;
  const tokens: string[] = [];
  const asking = (async () => {
    while (!isDone) {
      const { request_token: token } = await queue(api.url, busy.key, { url: installation.sampleUrl('bars') });
      tokens.push(token);
      const answers = await Promise.all([
        call(api.url, '/credits', busy),
        call(api.url, `/video/status?token=${token}`, busy),
        call(api.url, '/credits', revoked),
        call(api.url, '/credits', full),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 429]);
      expect(answers[0].data).toMatchObject({ downloads: { used: tokens.length } });
      await pauseOfClient();
    }
  })();
  const rebuilding = (async () => {
    for (let turn = 0; turn < scaled(3, 20); turn += 1) {
      const ran = await within(installation.environment)('projections', 'rebuild', 'all', '--json');
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
      const { projections } = JSON.parse(ran.stdout) as { projections: { name: string; identical: boolean }[] };
      expect(projections.map(({ identical }) => identical)).toEqual(projections.map(() => true));
      expect(projections).toHaveLength(allProjections.length);
    }
  })().finally(() => (isDone = true));
  await Promise.all([asking, rebuilding]);
  expect(tokens.length).toBeGreaterThan(10);
});
