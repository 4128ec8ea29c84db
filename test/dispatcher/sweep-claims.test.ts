import { describe, expect, it } from 'vitest';
import { newId } from '../../src/system/clock-and-chance.ts';
import { waitFor } from '../support/wait-for.ts';
import { claimOne, dispatchingUnderTest, queueOne, rowOf } from './dispatching.ts';
import { beat, sweep, sweepOnce } from './sweeping.ts';

const parts = dispatchingUnderTest();

/** When the claims of these tests are made; an attempt may take ten minutes. */
const claimedAt = '2026-11-14T13:00:00.000Z';

async function claimedBy(workerId: string) {
  const message = await queueOne(parts);
  await claimOne(parts, message, { workerId, now: claimedAt });
  await rowOf(parts, message, (row) => row.status === 'claimed');
  return message;
}

describe('a claim', () => {
  it('whose worker is gone is released, and the one of a living worker is not', async () => {
    const [alive, quiet, unknown] = [newId('wrk'), newId('wrk'), newId('wrk')];
    await beat(parts, alive, -3_600);
    await beat(parts, quiet, 20);
    const kept = await claimedBy(alive);
    const lost = [await claimedBy(quiet), await claimedBy(unknown)];
    const startedAtMs = performance.now();
    const told: string[] = [];
    const observer = {
      stepRecorded: ({ type }: { type: string }) => void told.push(type),
      claimExpired: () => void told.push('expired'),
    };
    sweep(parts, { now: claimedAt, observer });
    for (const message of lost) {
      const row = await rowOf(parts, message, ({ status }) => status === 'queued');
      expect(row).toMatchObject({ attempts: 1, worker_id: null, not_before: '2026-11-14T13:00:02.000Z' });
    }
    await waitFor(() => told.length >= 4, { what: 'both to be told' });
    expect(told).toEqual(['JobReleased', 'expired', 'JobReleased', 'expired']);
    // However long they were quiet: only silence that the sweeper could have heard counts.
    expect(performance.now() - startedAtMs).toBeGreaterThan(1_000);
    expect((await rowOf(parts, kept, () => true)).status).toBe('claimed');
  });

  it('is not released by a sweeper that has just begun to listen', async () => {
    const message = await claimedBy(newId('wrk'));
    await sweepOnce(parts, { now: claimedAt, leaseSeconds: 3_600 });
    expect((await rowOf(parts, message, () => true)).status).toBe('claimed');
  });

  it('a minute past the time of an attempt is released, however its worker does', async () => {
    const worker = newId('wrk');
    await beat(parts, worker, -3_600);
    const message = await claimedBy(worker);
    await sweepOnce(parts, { now: '2026-11-14T13:11:00.000Z' });
    expect((await rowOf(parts, message, () => true)).status).toBe('claimed');
    await sweepOnce(parts, { now: '2026-11-14T13:11:00.001Z' });
    await rowOf(parts, message, ({ status }) => status === 'queued');
  });
});
