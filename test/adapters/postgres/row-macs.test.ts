import { describe, expect, it } from 'vitest';
import { deriveKeys } from '../../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../../src/adapters/postgres/row-macs.ts';
import { rememberingLogger, silent } from '../../projections/read-models-under-test.ts';
import { jsonLines } from '../../support/log-lines.ts';

const [older, newer] = [deriveKeys('the secret that was used before'), deriveKeys('the secret that is used now')];
const before = createRowMacs({ current: older, others: [] }, { logger: silent });
const rotated = createRowMacs({ current: newer, others: [older] }, { logger: silent });
const later = createRowMacs({ current: newer, others: [] }, { logger: silent });

const row = { table: 'credits', name: 'acc_a', text: 'what the row says' } as const;

describe('the MAC of a row', () => {
  const mac = before.sign('credits', row.text);

  it('names the secret and tells nothing of it', () => {
    expect(mac).toMatch(new RegExp(`^${older.id}\\.[0-9a-f]{64}$`));
  });

  it('verifies under the secret that made it, also once that is an old one', () => {
    expect([before, rotated, later].map((macs) => macs.verifies({ ...row, mac }))).toEqual([true, true, false]);
    const renewed = rotated.sign('credits', row.text);
    expect([before, rotated, later].map((macs) => macs.verifies({ ...row, mac: renewed }))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('is one of those under each secret, by which a row is found', () => {
    expect(rotated.signUnderEach('people', row.text)).toEqual(
      [later, before].map((macs) => macs.sign('people', row.text)),
    );
    expect(before.signUnderEach('people', row.text)).not.toContain(mac);
  });

  it('holds for what the row says, in its own table', () => {
    expect(before.verifies({ ...row, mac, text: 'what the row says.' })).toBe(false);
    expect(before.verifies({ ...row, mac, table: 'pending_voids' })).toBe(false);
  });

  it.each([null, '', '.', older.id, `${older.id}.`, mac.slice(0, -1), mac.slice(0, -2), `${mac}00`, mac.slice(17)])(
    'is not %j',
    (other) => {
      expect(before.verifies({ ...row, mac: other })).toBe(false);
    },
  );
});

it('a row that does not verify is counted each time, and said once until it verifies again', () => {
  const { logger, text } = rememberingLogger();
  const counted: string[] = [];
  const macs = createRowMacs(
    { current: newer, others: [] },
    { logger, observer: { rowNotBelieved: (table) => void counted.push(table) } },
  );
  const mac = macs.sign('credits', row.text);
  const lines = () => jsonLines(text()).length;
  for (let time = 0; time < 3; time += 1) macs.verifies({ ...row, mac: null });
  expect([counted.length, lines()]).toEqual([3, 1]);
  macs.verifies({ ...row, name: 'acc_b', mac: null });
  expect([counted.length, lines()]).toEqual([4, 2]);
  expect(macs.verifies({ ...row, mac })).toBe(true);
  macs.verifies({ ...row, mac: null });
  expect([counted.length, lines()]).toEqual([5, 3]);
  expect(text()).not.toContain(mac.slice(17));
});
