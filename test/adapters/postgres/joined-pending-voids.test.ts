import { expect, it } from 'vitest';

import { joinPendingVoidRows } from '../../../src/adapters/postgres/pending-voids.ts';

it('the readings of a backup are joined charge by charge, also where one is resolved and another one added', () => {
  const row = (id: string, ...tokens: string[]) => ({
    ...{ append_id: id, account_id: 'acc_1', stream: 'usage-acc_1-20261101', expected_revision: '1', events: '[]' },
    ...{ created_at: '2026-11-02 00:00:00+00', voids: JSON.stringify(tokens.map((token) => ({ token }))) },
  });
  const before = [row('a', 'one', 'two'), row('b', 'one'), row('c', 'one')];
  const after = [row('a', 'two', 'three'), row('b', 'one'), row('d', 'one')];
  expect(joinPendingVoidRows(before, after)).toEqual([
    row('a', 'one', 'two', 'three'),
    row('b', 'one'),
    row('c', 'one'),
    row('d', 'one'),
  ]);
});
