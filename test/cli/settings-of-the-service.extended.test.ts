import { expect, it } from 'vitest';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import type { Environment } from '../support/service.ts';
import { expectRefusal, within } from './command-line.ts';

/** Commands that close books or sell plans by other settings than the service. */
const ofService = planFile({ fee_cents: 1_900 }, { plan: 'other' });
const dearer = planFile({ fee_cents: 2_900 }, { plan: 'other' });
const shorter = planFile({ fee_cents: 1_900 });
const sameTerms = planFile({ fee_cents: 1_900, name: 'Another name' }, { plan: 'other' });
const installation = installationOfFile({ PLANS_FILE: ofService });

const run = (words: string[], environment: Environment = {}) =>
  within({ ...installation.environment, ...environment })(...words);
const issueDue = (environment?: Environment) => run(['invoices', 'issue-due', '--json'], environment);
const openAccount = (environment?: Environment) =>
  run(['accounts', 'open', '--email', 'owner@example.com', '--plan', 'test', '--json'], environment);
const otherGrace = { CLOSING_GRACE_SECONDS: '0' };

it('are free to differ while no service has run', async () => {
  for (const ran of [await issueDue(otherGrace), await openAccount({ PLANS_FILE: dearer })])
    expect(ran.stderr).not.toMatch(/CLOSING_GRACE|PLANS_FILE/);
});

it('are refused, with the setting and both values', async () => {
  await installation.startRole('projector');
  const api = await installation.startRole('api');
  const dispatcher = await installation.startRole('dispatcher');
  const before = await installation.readLog('account-');
  expectRefusal(
    await issueDue(otherGrace),
    /CLOSING_GRACE_SECONDS is 0 for this command, and 3600 for the dispatcher .* Nothing was changed/,
  );
  for (const [file, difference] of [
    [dearer, 'its plan "test" has fee_cents 2900, and the API\'s has 1900'],
    [shorter, 'it has no plan "other", and the API\'s has one'],
  ] as const) {
    const refusal = new RegExp(`PLANS_FILE: ${file} is not what the API .*: ${difference}\\. Nothing was changed`);
    expectRefusal(await openAccount({ PLANS_FILE: file }), refusal);
    expectRefusal(await run(['accounts', 'plan', 'acc_aaaaaaaaaaaaaaaaaaaa', 'test'], { PLANS_FILE: file }), refusal);
  }
  expect(await installation.readLog('account-')).toEqual(before);
  for (const ran of [await issueDue(), await openAccount(), await openAccount({ PLANS_FILE: sameTerms })])
    expect(ran.code).toBe(0);

  // The process that was started last wins; roles that decide nothing by a setting do not count.
  await dispatcher.stop();
  await installation.startRole('dispatcher', otherGrace);
  await installation.startRole('projector', { CLOSING_GRACE_SECONDS: '7', PLANS_FILE: dearer });
  expect((await issueDue(otherGrace)).code).toBe(0);
  expectRefusal(await issueDue(), /is 3600 for this command, and 0 for the dispatcher/);
  await api.stop();
  await installation.startRole('api', { PLANS_FILE: dearer });
  expect((await openAccount({ PLANS_FILE: dearer })).code).toBe(0);
});
