import { beforeEach, expect, it } from 'vitest';
import { type CorrectionFacts, Corrections } from '../../src/audit/rules/correction-requests.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import { PermittedMoney } from '../../src/audit/rules/permitted-money.ts';
import { sum } from '../support/sum.ts';
import { linkOf } from './link-of.ts';

/** The rules of money that was given back, beside the corrections that permit it. */
const finance = { type: 'staff', id: 'stf_finance00000000000', role: 'finance', reason: 'broken' };
let told: string[];
let permitted: PermittedMoney;
beforeEach(() => {
  told = [];
  permitted = new PermittedMoney();
});

const chainOf = (accountId: string) =>
  new Corrections(`corrections-${accountId}`, accountId, ({ rule, field, expected, found }) =>
    told.push(`${rule} ${field} ${JSON.stringify(expected)}${found === 'none' ? ' is missing' : ''}`),
  );

function link(
  type: string,
  { data = {}, causedBy = '', position = 0 }: { data?: object; causedBy?: string; position?: number },
): Link {
  const metadata = { actor: finance, time: '2024-03-10T12:00:00.000Z', $causationId: causedBy };
  return linkOf(type, { stream: 'usage-1', revision: position, data, metadata });
}

/** A request for up to ten cents of a charge, or of several, at position 5, where it is permitted too. */
function request(of: Partial<CorrectionFacts> = {}, ...more: [token: string, cents: number][]): CorrectionFacts {
  const charges = [['a', 10] as const, ...more].map(([token, cents]) => ({ token, revision: 1, cents }));
  const correction = { kind: 'charges', stream: 'usage-1', charges };
  const asked = link('CorrectionAsked', {
    position: 5,
    data: { reference: 'case-1', cents: 10 + sum(more.map(([, cents]) => cents)), correction },
  });
  return { asked, chain: chainOf('acc_a'), permission: asked, ended: undefined, ...of };
}

const waived = (cents: number, of: { causedBy?: string; position?: number; token?: string } = {}) => {
  const { causedBy = 'event 5', position = 7, token = 'a' } = of;
  return link('ChargeWaived', { causedBy, position, data: { reference: 'case-1', token, cents } });
};
const made = (cents: number) => link('CorrectionMade', { position: 9, data: { cents } });
const failed = link('CorrectionFailed', { position: 9, data: { cents: 3 } });

const never = () => false;
function saysOf({
  of,
  given = [],
  account = 'acc_a',
  isOver = never,
}: {
  of?: CorrectionFacts | undefined;
  given?: readonly Link[];
  account?: string;
  isOver?: () => boolean;
}): string[] {
  told.length = 0;
  if (of) permitted.follow(of);
  for (const event of given) permitted.given(event, chainOf(account));
  permitted.check(isOver);
  return [...told];
}

const notPermitted = 'correction_permitted metadata.$causationId "what permits it"';

it('money is what a request permits, and what its end says', () => {
  expect(saysOf({ of: request({ ended: made(10) }), given: [waived(4), waived(6)] })).toEqual([]);
});

it('money may be read before its request', () => {
  permitted.given(waived(4), chainOf('acc_a'));
  permitted.follow(request({ ended: made(4) }));
  permitted.check(never);
  expect(told).toEqual([]);
});

it.each<[string, Parameters<typeof saysOf>[0]]>([
  ['without a request', { given: [waived(4)] }],
  ['because of another event', { of: request(), given: [waived(4, { causedBy: 'another' })] }],
  ['of another account', { of: request(), given: [waived(4)], account: 'acc_b' }],
  ['before it was permitted', { of: request(), given: [waived(4, { position: 4 })] }],
  ['at the place at which it was permitted', { of: request(), given: [waived(4, { position: 5 })] }],
  ['for another charge', { of: request(), given: [waived(4, { token: 'b' })] }],
  ['of a request that waits for a second person', { of: request({ permission: undefined }), given: [waived(4)] }],
])('money is permitted by nothing: %s', (_, given) => {
  expect(saysOf(given)).toEqual([notPermitted]);
});

it('money stays within what was asked for, in all', () => {
  const of = request();
  expect(saysOf({ of, given: [waived(10)] })).toEqual([]);
  expect(saysOf({ given: [waived(1)] })).toEqual([
    'correction_permitted data.cents "at most 10 in all"',
    'correction_permitted data "at most 10 of a"',
  ]);
});

it('money stays within what was asked for of each charge, by waivers and credit notes together', () => {
  const of = request({}, ['b', 5]);
  const credited = (...charges: [token: string, cents: number][]) =>
    link('CreditNoteIssued', {
      causedBy: 'event 5',
      position: 8,
      data: {
        reference: 'case-1',
        charges: charges.map(([token, cents]) => ({ token, charge_event_id: token, cents })),
        cents: sum(charges.map(([, cents]) => cents)),
      },
    });
  expect(saysOf({ of, given: [waived(4), credited(['a', 6], ['b', 4])] })).toEqual([]);
  expect(saysOf({ given: [credited(['b', 1])] })).toEqual([]);
  permitted = new PermittedMoney();
  expect(saysOf({ of, given: [credited(['a', 4], ['b', 6])] })).toEqual(['correction_permitted data "at most 5 of b"']);
});

it('an end says what was given back, and is judged once', () => {
  const end = (cents: number) => `correction_ended data "the end of what gave ${String(cents)} back"`;
  const of = request({ ended: made(10) });
  expect(saysOf({ of, given: [waived(4)] })).toEqual([end(4)]);
  expect(saysOf({ of })).toEqual([]);
  // Nothing comes behind the end.
  expect(saysOf({ given: [waived(1)] })).toEqual([notPermitted]);
});

it('a request that has failed gave nothing back', () => {
  expect(saysOf({ of: request({ ended: failed }) })).toEqual([]);
  permitted = new PermittedMoney();
  expect(saysOf({ of: request({ ended: failed }), given: [waived(3)] })).toEqual([
    'correction_ended data "the end of what gave 3 back"',
  ]);
});

it('an end comes within an hour of the permission, and is missed once', () => {
  const asked: unknown[] = [];
  const of = request();
  const isOver = (...what: unknown[]) => asked.push(what) > 0;
  expect(saysOf({ of, isOver })).toEqual(['correction_ended data.correction_id "an end within an hour" is missing']);
  expect(asked).toEqual([['2024-03-10T12:00:00.000Z', 3_600_000, 'correction event 5']]);
  expect(saysOf({ of, isOver })).toEqual([]);
  expect(asked).toHaveLength(1);
});
