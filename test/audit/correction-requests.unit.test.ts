import { beforeEach, describe, expect, it } from 'vitest';
import { centsAskedOf, Corrections, isGivenBackFor } from '../../src/audit/rules/correction-requests.ts';
import type { Link } from '../../src/audit/rules/event-schemas.ts';
import { linkOf } from './link-of.ts';

/** The rules of what staff ask for and decide, event by event. */
const finance = { type: 'staff', id: 'stf_finance00000000000', role: 'finance', reason: 'broken' };
const support = { type: 'staff', id: 'stf_support00000000000', role: 'support', reason: 'broken' };
const admin = { type: 'staff', id: 'stf_admin000000000000', role: 'admin', reason: 'broken' };
const operator = { type: 'staff', id: 'maria', role: 'operator', reason: 'broken' };
const system = { type: 'system', id: 'corrections' };

let told: string[];
let corrections: Corrections;
let revision: number;
beforeEach(() => {
  told = [];
  revision = -1;
  corrections = new Corrections('corrections-acc_a', 'acc_a', ({ rule, field, expected }) =>
    told.push(`${rule} ${field} ${JSON.stringify(expected)}`),
  );
});

interface By {
  actor?: object;
  time?: string;
  causedBy?: string;
}

const at = (time: string) => `2024-03-${time}.000Z`;

function link(type: string, data: object, { actor = finance, time = '10T12:00:00', causedBy = '' }: By = {}): Link {
  revision += 1;
  const metadata = { actor, time: at(time), $causationId: causedBy };
  return linkOf(type, { stream: 'corrections-acc_a', revision, data, metadata });
}

const line = { kind: 'credit_line', invoice_number: 1, line: 1 };
/** Ten cents in all. */
const charges = (tokens: readonly string[], stream = 'usage-1') => ({
  kind: 'charges',
  stream,
  charges: tokens.map((token, index) => ({ token, revision: 1, cents: index === 0 ? 11 - tokens.length : 1 })),
});
const charge = (token: string, stream?: string) => charges([token], stream);
const asking = {
  correction_id: 'c1',
  account_id: 'acc_a',
  correction: line as object,
  reference: 'case-1',
  cents: 10,
  limit_cents: 100,
  needs_approval: false,
};

const ask = (of: Partial<typeof asking> = {}, by: By = {}) =>
  corrections.check(link('CorrectionAsked', { ...asking, ...of }, by))!;
const decide = (type: string, data: object, by: By = {}) =>
  corrections.check(link(type, { correction_id: 'c1', ...data }, by));
/** @returns the divergences of the last event alone */
function saysOf(...work: readonly (() => unknown)[]): string[] {
  for (const each of work) {
    told.length = 0;
    each();
  }
  return told;
}

describe('a request', () => {
  it('is new, of its account, by a member of staff or an operator', () => {
    expect(saysOf(() => ask())).toEqual([]);
    expect(saysOf(() => ask({ correction_id: 'c2', reference: 'other' }, { actor: operator }))).toEqual([]);
    expect(saysOf(() => ask({ reference: 'another' }))).toEqual(['correction_order data.correction_id "a new one"']);
    expect(saysOf(() => ask({ correction_id: 'c3', reference: 'c3', account_id: 'acc_b' }))).toEqual([
      'correction_order data.account_id "acc_a"',
    ]);
    const owner = { type: 'owner', id: 'per_a' };
    expect(saysOf(() => ask({ correction_id: 'c4', reference: 'c4' }, { actor: owner }))).toEqual([
      'correction_actor metadata.actor "a member of staff, or an operator"',
    ]);
    expect(
      saysOf(() => ask({ correction_id: 'c5', reference: 'c5', needs_approval: true }, { actor: operator })),
    ).toEqual(['correction_approval data.needs_approval false']);
    expect([...corrections.askers]).toEqual([finance.id]);
    expect(corrections.askedFor('c3')?.data.account_id).toBe('acc_b');
    expect(corrections.askedFor('c9')).toBeUndefined();
  });

  const used = ['correction_reference data.reference "a new one for these charges"'];
  it.each<[string, object, object, string[]]>([
    ['a line of another invoice', line, { ...line, invoice_number: 2 }, used],
    ['a charge beside a line', line, charge('a'), []],
    ['a line beside a charge', charge('a'), line, []],
    ['a line that names another stream', { ...line, stream: 'a' }, { ...line, stream: 'b' }, used],
    ['a line that names the charge', charge('a'), { ...charge('a'), kind: 'credit_line' }, []],
    ['a charge that a line has named', { ...charge('a'), kind: 'credit_line' }, charge('a'), []],
    ['the same charge', charge('a'), charge('a'), used],
    ['another charge', charge('a'), charge('b'), []],
    ['a charge of the same token in another period', charge('a'), charge('a', 'usage-2'), []],
    ['several, of which one is the same', charges(['a', 'b']), charges(['b', 'c']), used],
    ['several, of which none is the same', charges(['a', 'b']), charges(['c', 'd']), []],
    ['one of several', charges(['a', 'b']), charge('b'), used],
  ])('with a reference that was used before, about %s', (_, first, second, says) => {
    const again = { correction_id: 'c2', correction: second };
    expect(
      saysOf(
        () => ask({ correction: first }),
        () => ask(again),
      ),
    ).toEqual(says);
  });

  it.each([
    ['refused', 'CorrectionRefused', {}, finance, []],
    ['that has failed', 'CorrectionFailed', {}, system, []],
    ['made', 'CorrectionMade', { cents: 10 }, system, used],
  ] as const)('leaves its reference free where it was %s, or not', (_, type, data, actor, says) => {
    ask();
    decide(type, data, { actor, causedBy: 'event 0' });
    expect(saysOf(() => ask({ correction_id: 'c2' }))).toEqual(says);
  });
});

describe('a second person', () => {
  const check = (of: Partial<typeof asking>, by: By = {}, others: readonly string[] = []) => {
    const { actor = finance } = by;
    const { asked } = ask(of, by);
    told.length = 0;
    const sure = new Set([(actor as { id: string }).id]);
    corrections.checkApproval(asked, { sure, possible: new Set([...sure, ...others]) });
    return told;
  };
  const needed = (needs: boolean) => [`correction_approval data.needs_approval ${String(needs)}`];

  it.each([
    ['up to the limit', { cents: 100 }, finance, []],
    ['beyond it', { cents: 101 }, finance, needed(true)],
    ['beyond it, as it says', { cents: 101, needs_approval: true }, finance, []],
    ['within it, though it says so', { cents: 100, needs_approval: true }, finance, needed(false)],
    ['within it, by an admin', { cents: 100 }, admin, []],
    ['within it, by support', { cents: 1 }, support, needed(true)],
  ] as const)('is needed, or not, %s', (_, of, actor, says) => {
    expect(check(of, { actor })).toEqual(says);
  });

  it('is needed where the same person has asked for the rest within 24 hours', () => {
    ask({ cents: 60 }, { time: '10T12:00:00' });
    ask({ correction_id: 'other', cents: 90, reference: 'other' }, { actor: admin });
    const more = { correction_id: 'c2', cents: 41, reference: 'case-2' };
    expect(check(more, { time: '11T11:59:59' })).toEqual(needed(true));
    expect(check({ ...more, correction_id: 'c3', reference: 'case-3', cents: 59 }, { time: '11T12:00:00' })).toEqual(
      [],
    );
    expect(check({ ...more, correction_id: 'c4', reference: 'case-4', cents: 1 }, { time: '11T12:00:00' })).toEqual(
      needed(true),
    );
  });

  it('counts what another id of the same person may have asked for: either answer is right where that is not known', () => {
    ask({ cents: 90 }, { actor: admin });
    const more = { correction_id: 'c2', cents: 20, reference: 'case-2' };
    expect(check({ ...more, needs_approval: true }, {}, [admin.id])).toEqual([]);
    expect(check({ ...more, correction_id: 'c3', reference: 'case-3' }, {}, [])).toEqual([]);
    expect(check({ ...more, correction_id: 'c4', reference: 'case-4', needs_approval: true }, {}, [])).toEqual(
      needed(false),
    );
  });

  it('does not count what was refused, or has failed', () => {
    ask({ cents: 60 });
    decide('CorrectionRefused', {}, { actor: admin });
    expect(check({ correction_id: 'c2', cents: 100, reference: 'case-2' })).toEqual([]);
  });
});

describe('a decision', () => {
  const unknown = ['correction_order data.correction_id "one that was asked for"'];
  const notNow = 'correction_order type "what the request allows"';
  const waiting = () => ask({ needs_approval: true });
  const approve = (by: By = { actor: admin }) => decide('CorrectionApproved', {}, by);
  const made = (cents: number, causedBy = 'event 0') =>
    decide('CorrectionMade', { cents }, { actor: system, causedBy });

  it('is about a request', () => {
    expect(saysOf(() => expect(approve()).toBeUndefined())).toEqual(unknown);
  });

  it('approves once, by another person of finance', () => {
    const notThem = ['correction_approval metadata.actor "another person of finance"'];
    expect(saysOf(waiting, approve)).toEqual([]);
    expect(saysOf(approve)).toEqual([notNow]);
    for (const actor of [finance, support, operator]) {
      const of = { correction_id: `by ${actor.id}`, reference: actor.id, needs_approval: true };
      ask(of);
      expect(saysOf(() => decide('CorrectionApproved', of, { actor }))).toEqual(notThem);
    }
    expect(
      saysOf(
        () => ask({ correction_id: 'c2', reference: 'c2' }),
        () => decide('CorrectionApproved', { correction_id: 'c2' }, { actor: admin }),
      ),
    ).toEqual([notNow]);
  });

  it('refuses, by finance or by the person who has asked', () => {
    const notThem = ['correction_approval metadata.actor "finance, or the person who asked"'];
    const refusedBy = (asker: { id: string }, actor: { id: string }) => {
      const of = {
        correction_id: `${asker.id} ${actor.id}`,
        reference: `${asker.id} ${actor.id}`,
        needs_approval: true,
      };
      ask(of, { actor: asker });
      return saysOf(() => decide('CorrectionRefused', of, { actor }));
    };
    expect(refusedBy(support, finance)).toEqual([]);
    expect(refusedBy(support, support)).toEqual([]);
    expect(refusedBy(finance, support)).toEqual(notThem);
    expect(refusedBy(operator, operator)).toEqual(notThem);
    expect(refusedBy(support, { ...operator, role: 'finance' } as never)).toEqual(notThem);
  });

  it('is made by the service, because of what permits it, within what was asked for', () => {
    expect(saysOf(ask, () => made(10))).toEqual([]);
    expect(saysOf(() => made(10))).toEqual([notNow]);
    const one = (cents: number, by: By) => {
      const id = `c ${String(revision)}`;
      ask({ correction_id: id, reference: id });
      return saysOf(() =>
        decide('CorrectionMade', { correction_id: id, cents }, { causedBy: `event ${String(revision)}`, ...by }),
      );
    };
    const atMost = ['correction_ended data.cents "at least 1 and at most 10"'];
    expect(one(1, { actor: system })).toEqual([]);
    expect(one(0, { actor: system })).toEqual(atMost);
    expect(one(11, { actor: system })).toEqual(atMost);
    expect(one(1, { actor: { type: 'system', id: 'others' } })).toEqual([
      'correction_order metadata.actor.id "corrections"',
    ]);
    expect(one(1, { actor: { type: 'staff', id: 'corrections' } })).toEqual([
      'correction_order metadata.actor.type "system"',
    ]);
    expect(one(1, { actor: system, causedBy: 'another' })[0]).toMatch(
      /^correction_order metadata.\$causationId "event /,
    );
  });

  it('ends after the approval that it needs, and because of it', () => {
    expect(saysOf(waiting, () => made(10))).toEqual([notNow, 'correction_order metadata.$causationId undefined']);
    const second = { correction_id: 'c2', reference: 'c2', needs_approval: true };
    ask(second);
    const approved = decide('CorrectionApproved', second, { actor: admin })?.permission?.id ?? '';
    expect(saysOf(() => decide('CorrectionFailed', second, { actor: system, causedBy: approved }))).toEqual([]);
  });
});

it('a request about charges names each once, and comes to their sum', () => {
  const notSum = ['correction_sum data.cents "the sum of its charges, each named once"'];
  expect(saysOf(() => ask({ correction: charges(['a', 'b', 'c']) }))).toEqual([]);
  expect(saysOf(() => ask({ correction_id: 'c2', correction: charges(['d', 'e']), cents: 11 }))).toEqual(notSum);
  expect(saysOf(() => ask({ correction_id: 'c3', correction: charges(['f', 'f']) }))).toEqual(notSum);
  const { charges: _, ...none } = charge('g');
  expect(saysOf(() => ask({ correction_id: 'c4', correction: none }))).toEqual(notSum);
  // Of charges that are not there, the sum is nothing, and no two requests share one.
  expect(saysOf(() => ask({ correction_id: 'c8', correction: none, cents: 0 }))).toEqual([]);
  expect(centsAskedOf(ask({ correction_id: 'c5', correction: charges(['h', 'i']) }), 'h')).toBe(9);
  expect(centsAskedOf(ask({ correction_id: 'c6', correction: charge('j') }), 'i')).toBeUndefined();
  expect(centsAskedOf(ask({ correction_id: 'c7', reference: 'line' }), 'i')).toBeUndefined();
});

describe('money', () => {
  const given = (type: string, data: object, by: By & { stream?: string } = {}) => ({
    ...link(type, { reference: 'case-1', cents: 10, ...data }, by),
    stream: by.stream ?? 'usage-1',
  });
  const waived = (token: string, by: By & { stream?: string } = {}) => given('ChargeWaived', { token }, by);
  const credited = (data: object = {}, ...tokens: string[]) => {
    const named = tokens.map((token) => ({ token, charge_event_id: token, cents: 1 }));
    return given('CreditNoteIssued', { invoice_number: 1, line: 1, charges: named, ...data }, { stream: 'invoices-a' });
  };

  it.each<[string, object, () => Link, boolean]>([
    ['the charge', charge('a'), () => waived('a'), true],
    ['another charge', charge('a'), () => waived('b'), false],
    ['a charge of another period', charge('a'), () => waived('a', { stream: 'usage-2' }), false],
    ['one of several charges', charges(['a', 'b']), () => waived('b'), true],
    ['a charge, for a line', line, () => waived('a'), false],
    ['the line', line, () => credited(), true],
    ['another line', line, () => credited({ line: 2 }), false],
    ['a line of another invoice', line, () => credited({ invoice_number: 2 }), false],
    ['a line, for a charge', charge('a'), () => credited(), false],
    ['a line, for charges that name it', { ...line, kind: 'charges' }, () => credited(), false],
    ['the charge, by a credit note', charge('a'), () => credited({}, 'a'), true],
    ['several charges, by a credit note', charges(['a', 'b', 'c']), () => credited({ line: 9 }, 'c', 'a'), true],
    ['one that was not asked for, beside others', charges(['a', 'b']), () => credited({}, 'a', 'c'), false],
    ['charges, for a line', line, () => credited({}, 'a'), false],
    [
      'the charge, under another reference',
      charge('a'),
      () => given('ChargeWaived', { token: 'a', reference: 'x' }),
      false,
    ],
    ['the charge, by another person', charge('a'), () => waived('a', { actor: admin }), false],
  ])('is given back for a request: %s', (_, correction, event, is) => {
    expect(isGivenBackFor(ask({ correction }), event())).toBe(is);
  });
});
