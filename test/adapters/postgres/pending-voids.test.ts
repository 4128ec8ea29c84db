import { expect, it } from 'vitest';
import { beginClosing } from '../../../projections/work-lists/pending-void-gate.ts';
import { createPendingVoids, measurePendingVoids } from '../../../src/adapters/postgres/pending-voids.ts';
import { newUuid } from '../../../src/system/clock-and-chance.ts';
import { promised } from '../../dispatcher/resolving.ts';
import { readModelsOfFile, testMacs } from '../../projections/read-models-under-test.ts';
import { pendingVoidsContract, type PendingVoidsUnderTest } from './pending-voids-contract.ts';

const models = readModelsOfFile();

function open(): PendingVoidsUnderTest {
  const { pool, storeOnStandby } = models;
  const { process, at } = promised;
  const pendingVoids = createPendingVoids(pool, { storeOnStandby, macs: testMacs, process, now: () => at });
  return { pendingVoids, closings: { begin: (stream) => beginClosing(pool, stream) } };
}

pendingVoidsContract(open);

it('are counted, and how long the oldest has waited', async () => {
  const { pendingVoids } = open();
  for (const pending of await pendingVoids.list(1_000)) await pendingVoids.remove(pending);
  expect(await measurePendingVoids(models.pool)).toEqual({ count: 0, oldestSeconds: 0 });
  const event = { id: newUuid(), type: 'Tested', data: {}, metadata: {} };
  const append = { accountId: 'acc_a', stream: 'usage-acc_a-20261101', expected: 0, events: [event] };
  for (const token of ['a', 'b']) await pendingVoids.add(append, { kind: 'download', token });
  await models.pool.query("update pending_voids set created_at = created_at - interval '1 hour'");
  const { count, oldestSeconds } = await measurePendingVoids(models.pool);
  expect(count).toBe(1);
  expect(oldestSeconds).toBeGreaterThanOrEqual(3_600);
});
