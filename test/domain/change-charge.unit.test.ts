import { describe, expect, it } from 'vitest';
import { type ChargeCommand, decideCharge, evolveCharges, newCharges } from '../../src/domain/change-charge.ts';
import { noLimit } from '../../src/domain/key-limits.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import {
  accountId,
  capReached,
  capRemoved,
  capSet,
  charge,
  closed,
  ended,
  given,
  idOf,
  lookupId,
  mails,
  opened,
  plan,
  planChanged,
  queued,
  token,
  used,
  voidOf,
  waiveCommand,
  waiverOf,
  warned,
} from './usage-examples.ts';

/** @param first revision of the period at which the fold begins */
function decide(events: UsageEvent[], command: ChargeCommand, first = 0) {
  const state = events.reduce(
    (folded, event, revision) =>
      revision < first ? folded : evolveCharges(folded, event, { id: idOf(revision), revision }),
    newCharges(),
  );
  return decideCharge(state, command);
}

const voided = (number: number, revision: number, cents: number) => voidOf(number, cents, revision);
const confirmed = (number: number): UsageEvent => ({ type: 'DownloadConfirmed', data: { token: token(number) } });
const waived = (cents: number, overage_downloads: number, reference = 'CASE-1') =>
  waiverOf(2, 3, { cents, overage_downloads, reference });

describe('a fold that begins at the charge', () => {
  const warning = warned('downloads', 80, 2, 2);
  const lookupVoided: UsageEvent = {
    type: 'MetadataCreditVoided',
    data: { lookup_id: lookupId, charge_event_id: idOf(5) },
  };
  const commands: { first: number; command: ChargeCommand; done: UsageEvent; instead?: UsageEvent }[] = [
    { first: 3, command: { kind: 'confirm_download', token: token(2) }, done: confirmed(2), instead: voided(2, 3, 25) },
    { first: 3, command: { kind: 'void_download', token: token(2) }, done: voided(2, 3, 25), instead: confirmed(2) },
    { first: 5, command: { kind: 'void_lookup', lookupId }, done: lookupVoided },
  ];

  it.each(commands)('decides as one of the whole period: $command.kind', ({ first, command, ...events }) => {
    const { done, instead } = events;
    const after = [[], [done], [ended()], [ended(), closed], [done, ended(), closed], [waived(10, 0)], [waived(25, 1)]];
    for (const later of instead ? [...after, [instead], [instead, ended(), closed]] : after) {
      const history = [...used, warning, ...later];
      expect(decide(history, command, first)).toEqual(decide(history, command));
    }
    expect(decide([...used, warning], command, first)).toEqual([done]);
  });

  it('knows that the books are closed', () => {
    const books = [...used, ended(), closed];
    expect(decide(books, { kind: 'void_download', token: token(2) }, 3)).toEqual({ refusal: 'period_closed' });
    expect(decide(books, { kind: 'confirm_download', token: token(2) }, 3)).toEqual([]);
    expect(decide(books, { kind: 'void_lookup', lookupId }, 5)).toEqual({ refusal: 'period_closed' });
  });

  it('finds nothing where it begins too late', () => {
    const late = decide(used, { kind: 'void_download', token: token(2) }, 4);
    expect(late).toEqual({ refusal: 'charge_not_found' });
  });
});

describe('a download', () => {
  it('is voided for exactly what its own charge took', () => {
    expect(decide(used, { kind: 'void_download', token: token(1) })).toEqual([voided(1, 1, 0)]);
    expect(decide(used, { kind: 'void_download', token: token(2) })).toEqual([voided(2, 3, 25)]);
  });

  it('is voided once', () => {
    expect(decide([...used, voided(2, 3, 25)], { kind: 'void_download', token: token(2) })).toEqual([]);
  });

  it('that was partly waived gives back the rest, and one waived as a whole nothing', () => {
    const partly = decide([...used, waived(10, 0)], { kind: 'void_download', token: token(2) });
    expect(partly).toEqual([voided(2, 3, 15)]);
    const wholly = decide([...used, waived(25, 1)], { kind: 'void_download', token: token(2) });
    expect(wholly).toMatchObject([{ data: { credits: 0, overage_downloads: 0, cents: 0 } }]);
  });

  it('is confirmed or voided, whichever comes first', () => {
    expect(decide(used, { kind: 'confirm_download', token: token(1) })).toEqual([confirmed(1)]);
    expect(decide([...used, confirmed(1)], { kind: 'confirm_download', token: token(1) })).toEqual([]);
    expect(decide([...used, confirmed(1)], { kind: 'void_download', token: token(1) })).toEqual({
      refusal: 'download_confirmed',
    });
    expect(decide([...used, voided(1, 1, 0)], { kind: 'confirm_download', token: token(1) })).toEqual({
      refusal: 'download_voided',
    });
  });

  it('of a closed period is not voided any more, and needs no confirmation', () => {
    const books = [...used, ended(), closed];
    expect(decide(books, { kind: 'void_download', token: token(1) })).toEqual({ refusal: 'period_closed' });
    expect(decide(books, { kind: 'confirm_download', token: token(1) })).toEqual([]);
  });

  it('that is not there is neither', () => {
    expect(decide(used, { kind: 'void_download', token: token(9) })).toEqual({ refusal: 'charge_not_found' });
    expect(decide(used, { kind: 'confirm_download', token: token(9) })).toEqual({ refusal: 'charge_not_found' });
  });
});

describe('a lookup', () => {
  const command: ChargeCommand = { kind: 'void_lookup', lookupId };
  const back: UsageEvent = {
    type: 'MetadataCreditVoided',
    data: { lookup_id: lookupId, charge_event_id: idOf(5) },
  };

  it('is voided once, in an ended period too, not in a closed one', () => {
    expect(decide([...used, ended()], command)).toEqual([back]);
    expect(decide([...used, back], command)).toEqual([]);
    expect(decide([...used, ended(), closed], command)).toEqual({ refusal: 'period_closed' });
  });
});

describe('a waiver', () => {
  const waiveSecond = (cents?: number, reference = 'CASE-1'): ChargeCommand => waiveCommand(token(2), reference, cents);

  it('takes back all that is left, or a part', () => {
    expect(decide(used, waiveSecond(25))).toEqual([waived(25, 1)]);
    expect(decide(used, waiveSecond(10))).toEqual([waived(10, 0)]);
    expect(decide([...used, waived(10, 0)], waiveSecond(15, 'CASE-2'))).toEqual([waived(15, 1, 'CASE-2')]);
  });

  it('may have the reference of that of another charge', () => {
    const others = [...used, waived(25, 1), charge(3), queued(3, true)];
    const another = waiveCommand(token(3), 'CASE-1');
    expect(decide(others, another)).toMatchObject([{ data: { reference: 'CASE-1', token: token(3), cents: 25 } }]);
  });

  it('of the same reference and charge is made once', () => {
    for (const cents of [1, 10, 11]) expect(decide([...used, waived(10, 0)], waiveSecond(cents))).toEqual([]);
  });

  it('takes back no more than is left', () => {
    expect(decide(used, waiveSecond(26))).toEqual([waived(25, 1)]);
    expect(decide([...used, waived(10, 0)], waiveSecond(16, 'CASE-2'))).toEqual([waived(15, 1, 'CASE-2')]);
    expect(decide([...used, waived(25, 1)], waiveSecond(1, 'CASE-2'))).toEqual([]);
    expect(decide([...used, voided(2, 3, 25)], waiveSecond())).toEqual([]);
  });

  it('is of money, not of credits', () => {
    expect(decide(used, waiveCommand(token(1), 'CASE-1'))).toEqual([]);
  });

  it('comes before the books are closed', () => {
    expect(decide([...used, ended()], waiveSecond())).toEqual([waived(25, 1)]);
    expect(decide([...used, ended(), closed], waiveSecond())).toEqual({ refusal: 'period_closed' });
  });
});

it('a charge knows its place and its rate, which a credit has not', () => {
  const { charges } = used.reduce(
    (folded, event, revision) => evolveCharges(folded, event, { id: idOf(revision), revision }),
    newCharges(),
  );
  expect(charges.get(token(1))).toMatchObject({ eventId: idOf(1), revision: 1, rate: null });
  const rate = { rate_cents: 25, rate_version: '2026-11' };
  expect(charges.get(token(2))).toMatchObject({ eventId: idOf(3), revision: 3, rate });
  expect(charges.get(lookupId)).toMatchObject({ eventId: idOf(5), revision: 5, rate: null });
});

describe('a failure of the service', () => {
  const giveBack = (number: number): ChargeCommand => ({
    kind: 'return_service_failure',
    token: token(number),
    reference: `service-failure-${token(number)}`,
  });
  const creditReturned: UsageEvent = {
    type: 'DownloadCreditReturned',
    data: { token: token(1), charge_event_id: idOf(1) },
  };
  const chargeWaived = waived(25, 1, `service-failure-${token(2)}`);

  it('gives back the credit that the download took, or all that is left of its charge', () => {
    expect(decide(used, giveBack(1))).toEqual([creditReturned]);
    expect(decide(used, giveBack(2))).toEqual([chargeWaived]);
    const rest = waived(15, 1, `service-failure-${token(2)}`);
    expect(decide([...used, waived(10, 0)], giveBack(2))).toEqual([rest]);
  });

  it('is given back once, and not where nothing is left', () => {
    expect(decide([...used, creditReturned], giveBack(1))).toEqual([]);
    expect(decide([...used, chargeWaived], giveBack(2))).toEqual([]);
    expect(decide([...used, waived(25, 1)], giveBack(2))).toEqual([]);
    expect(decide([...used, voided(1, 1, 0)], giveBack(1))).toEqual([]);
  });

  it('leaves a later void nothing to give back', () => {
    const void1: ChargeCommand = { kind: 'void_download', token: token(1) };
    expect(decide([...used, creditReturned], void1)).toMatchObject([{ type: 'DownloadVoided', data: { credits: 0 } }]);
  });

  it('comes before the books are closed', () => {
    expect(decide([...used, ended()], giveBack(1))).toEqual([creditReturned]);
    expect(decide([...used, ended(), closed], giveBack(1))).toEqual({ refusal: 'period_closed' });
  });

  it('stays charged where the terms say so', () => {
    const terms = [opened({ service_failures_returned: false }), ...used.slice(1)];
    for (const number of [1, 2]) expect(decide(terms, giveBack(number))).toEqual([]);
  });

  it('is given back by the terms of the moment, not by those of the next period', () => {
    const withoutReturn = planChanged({ service_failures_returned: false });
    const nextWithout: UsageEvent = {
      type: 'PlanChanged',
      data: { effective: 'next_period', terms: { ...plan, service_failures_returned: false }, fee_difference_cents: 0 },
    };
    expect(decide([...used, withoutReturn], giveBack(1))).toEqual([]);
    expect(decide([...used, nextWithout], giveBack(1))).toEqual([creditReturned]);
  });

  it('raises what remains, keeps the ordinal, and re-rates nothing', () => {
    const before = given(...used);
    expect(given(...used, creditReturned)).toEqual({ ...before, downloadCredits: before.downloadCredits - 1 });
  });
});

describe('several waivers at once', () => {
  const waiveAll = (...numbers: number[]): ChargeCommand => ({
    kind: 'waive_charges',
    charges: numbers.map((number) => ({ token: token(number), cents: 25 })),
    reference: 'CASE-1',
  });
  const two = [...used, charge(3), queued(3, true)];
  const third = waiverOf(3, 6, { cents: 25, overage_downloads: 1 });

  it('take back all that is left of each charge, and pass over credits and what is not there', () => {
    expect(decide(two, waiveAll(1, 2, 3, 9))).toEqual([waived(25, 1), third]);
    expect(decide([...two, waived(10, 0, 'CASE-2')], waiveAll(2))).toEqual([waived(15, 1)]);
    expect(decide([...two, waived(25, 1, 'CASE-2')], waiveAll(2, 3))).toEqual([third]);
  });

  it('are made once for each charge under one reference', () => {
    expect(decide([...two, waived(10, 0)], waiveAll(2))).toEqual([]);
    expect(decide([...two, waived(10, 0)], waiveAll(2, 3))).toEqual([third]);
  });

  it('come before the books are closed, unless all were made before', () => {
    const books = [...two, waived(10, 0), ended(), closed];
    expect(decide(books, waiveAll(2, 3))).toEqual({ refusal: 'period_closed' });
    expect(decide(books, waiveAll(3))).toEqual({ refusal: 'period_closed' });
    expect(decide(books, waiveAll(2))).toEqual([]);
  });
});

it('a void says who promised it, and when', () => {
  const promised = { process: 'api-1', at: '2026-11-14T12:00:00.000Z' };
  expect(decide(used, { kind: 'void_download', token: token(1), promised })).toMatchObject([{ data: { promised } }]);
  expect(decide(used, { kind: 'void_lookup', lookupId, promised })).toMatchObject([{ data: { promised } }]);
});

it('nothing is given back of a charge that is not there', () => {
  const commands: ChargeCommand[] = [
    { kind: 'void_lookup', lookupId: token(9) },
    { kind: 'return_service_failure', token: token(9), reference: 'CASE-1' },
  ];
  for (const command of commands) expect(decide(used, command)).toEqual({ refusal: 'charge_not_found' });
});

it('no money is waived of a lookup', () => {
  expect(decide(used, waiveCommand(lookupId, 'CASE-1'))).toEqual([]);
});

it('a failure of the service is not judged without the terms of the period', () => {
  const command: ChargeCommand = { kind: 'return_service_failure', token: token(1), reference: 'CASE-1' };
  expect(() => decide(used, command, 1)).toThrow('the terms of the period are not known');
});

const ofAccount: UsageEvent[] = [
  { type: 'KeyLimitSet', data: { key_id: 'key_aaaaaaaaaaaaaaaa', limit: noLimit } },
  { type: 'KeyLimitRemoved', data: { key_id: 'key_aaaaaaaaaaaaaaaa' } },
  { type: 'AccountSuspended', data: { account_id: accountId } },
  { type: 'SuspensionLifted', data: { plan: 'dev_100', fee_difference_cents: 0 } },
];
const ofCap = [capSet(1), capRemoved, capReached(1, 1)];

it.each([...ofCap, ...ofAccount, queued(1, false), warned('downloads', 80, 2, 2), ended(), ...mails])(
  'charges are as they were after $type',
  (event) => {
    const charges = newCharges();
    expect(evolveCharges(charges, event, { id: idOf(1), revision: 1 })).toBe(charges);
  },
);
