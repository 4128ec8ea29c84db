import { expect, test } from 'vitest';
import { recordPendingVoid } from '../../src/commands/record-pending-void.ts';
import type { Compensation } from '../../src/commands/usage/decide-batch.ts';
import { ServiceParts } from '../../src/ports/service-parts.ts';
import { chargeFor, resolvingUnderTest } from '../dispatcher/resolving.ts';
import { silent } from '../projections/read-models-under-test.ts';
import { downloadOf, freshToken, openUsage } from './usage-account.ts';

const { log, parts, appendOf } = resolvingUnderTest();

/** Asks, for a request that came so long ago, that nothing be charged. */
async function ask(ageMs: number): Promise<boolean> {
  const account = await openUsage(log.store, { downloads_limit: 0 });
  const token = freshToken();
  const compensation: Compensation = {
    append: await appendOf(account, downloadOf(token), { isStored: true }),
    charge: chargeFor(token),
  };
  const request = { accountId: account.accountId, requestId: 'a', arrivedMs: performance.now() - ageMs };
  return await recordPendingVoid(
    request,
    { pendingVoids: parts.pendingVoids, serviceParts: new ServiceParts(silent) },
    compensation,
  );
}

test('a request is told that nothing is charged once that is promised', async () => {
  expect(await ask(10_000)).toBe(true);
});

test('one that is a minute old is told nothing: its promise may come after the books are closed', async () => {
  expect(await ask(60_001)).toBe(false);
});
