import { expect, it } from 'vitest';
import { changeCharge } from '../../src/commands/change-charge.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { token, waiveCommand } from '../domain/usage-examples.ts';
import { scaled } from '../support/proof-scale.ts';
import { patienceMs, pauseOfClient } from '../support/wait-for.ts';
import { logUnderTest } from './log-under-test.ts';
import {
  freshCause,
  midNovember,
  openUsage,
  outcomesOf,
  queueAll,
  readUsage,
  upFrom,
  writersOf,
} from './usage-account.ts';

const log = logUnderTest();

it('a charge is changed though downloads are charged in the same stream all the while', async () => {
  const account = await openUsage(log.store, { downloads_limit: 0, overage_cents: 5 });
  const writers = writersOf(log.store);
  const before = scaled(100, 1_000);
  for (let first = 1; first <= before; first += 100) await queueAll(writers, account, upFrom(first, 100));
  const turns = { done: false };
  const charging = (async () => {
    let next = before + 1;
    while (!turns.done) {
      const answers = await queueAll(writers, account, upFrom(next, 5));
      expect(new Set(outcomesOf(answers))).toEqual(new Set(['accepted']));
      next += 5;
      await pauseOfClient();
    }
    return next - 1;
  })();
  const corrections = scaled(3, 20);
  for (let number = 1; number <= corrections; number += 1) {
    const waived = await changeCharge(
      { store: log.store, now: () => midNovember },
      {
        stream: account.stream,
        command: waiveCommand(token(number), `case-${String(number)}`),
        cause: { ...freshCause(), actor: { type: 'staff', id: 'Ada', role: 'operator', reason: 'busy' } },
        timeoutMs: patienceMs,
      },
    );
    expect(isRefused(waived)).toBe(false);
  }
  turns.done = true;
  const charged = await charging;
  const stored = await readUsage(log.store, account.stream);
  expect(stored.filter(({ event }) => event.type === 'ChargeWaived')).toHaveLength(corrections);
  expect(stored.filter(({ event }) => event.type === 'DownloadQueued')).toHaveLength(charged);
  expect(charged).toBeGreaterThan(before);
});
