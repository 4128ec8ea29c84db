import { expect, it } from 'vitest';
import { Divergences, type Facts, nameOf } from '../../src/audit/rules/divergence.ts';
import {
  decideAcknowledgement,
  evolveAcknowledgements,
  initialAcknowledgements,
} from '../../src/domain/acknowledgements.ts';

const facts = {
  rule: 'charge_rate',
  account_id: 'acc_aaaaaaaaaaaaaaaa',
  stream: 'usage-acc_aaaaaaaaaaaaaaaa-20261101',
  revision: 3,
  field: 'data.cents',
  expected: 25,
  found: 24,
} satisfies Facts;

const others: Partial<Facts>[] = [
  { rule: 'charge_due' },
  { account_id: 'acc_bbbbbbbbbbbbbbbb' },
  { account_id: null },
  { stream: 'usage-acc_aaaaaaaaaaaaaaaa-20261201' },
  { revision: 4 },
  { field: 'data.rate_cents' },
  { expected: 26 },
  { found: 23 },
  { found: '24' },
];

it.each(others)('an acknowledged divergence is known; one with %j is new, and may be acknowledged too', (changed) => {
  const divergences = new Divergences(new Set([nameOf(facts)]));
  divergences.report(facts);
  divergences.report({ ...facts, ...changed });
  expect(divergences.counts).toEqual({ new: 1, known: 1 });

  const acknowledged = { ...facts, reference: 'CASE-1' };
  const state = evolveAcknowledgements(initialAcknowledgements, { type: 'DivergenceAcknowledged', data: acknowledged });
  expect(decideAcknowledgement(state, acknowledged)).toEqual([]);
  const data = { ...acknowledged, ...changed } as typeof acknowledged;
  expect(decideAcknowledgement(state, data)).toEqual([{ type: 'DivergenceAcknowledged', data }]);
});
