import { describe, expect, it } from 'vitest';

import { decideSettlement, evolveSettlement, newSettlement } from '../../src/domain/settlement.ts';
import type { Settlement, SettlementCommand } from '../../src/domain/settlement.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import type { OpenUsage } from '../../src/domain/usage-state.ts';
import { charge, credit, ended, lookedUp, opened, queued, token, warned } from './usage-examples.ts';

const idOf = (revision: number) => `00000000-0000-5000-8000-${String(revision).padStart(12, '0')}`;
const lookupId = '6f1f6a3e-5d8b-4c52-9d3c-0a4f5f0f9a11';
const endedAt = '2026-12-01T00:00:05.000Z';

function settled(...events: UsageEvent[]): Settlement {
  return events.reduce(
    (state, event, revision) => evolveSettlement(state, event, { id: idOf(revision), time: endedAt }),
    newSettlement(),
  );
}

const decide = (events: UsageEvent[], command: SettlementCommand, now = endedAt) =>
  decideSettlement(settled(...events), command, now);

/** Revision 0 opens; a credit at 1, a charge of 25 cents at 3, a lookup at 5. */
const used = [opened(), credit(1), queued(1, false), charge(2), queued(2, true), lookedUp(1, lookupId)];
const closed: UsageEvent = {
  type: 'UsagePeriodClosed',
  data: {
    period_start: '2026-11-01T00:00:00.000Z',
    period_end: '2026-12-01T00:00:00.000Z',
    downloads: 2,
    download_credits: 1,
    overage_downloads: 1,
    overage_cents: 25,
    metadata_credits: 1,
    fee_difference_cents: 0,
  },
};
const voided = (number: number, revision: number, cents: number): UsageEvent => ({
  type: 'DownloadVoided',
  data: {
    token: token(number),
    charge_event_id: idOf(revision),
    credits: cents === 0 ? 1 : 0,
    overage_downloads: cents === 0 ? 0 : 1,
    cents,
  },
});
const confirmed = (number: number): UsageEvent => ({ type: 'DownloadConfirmed', data: { token: token(number) } });
const waived = (cents: number, overage_downloads: number, reference = 'CASE-1'): UsageEvent => ({
  type: 'ChargeWaived',
  data: { reference, token: token(2), charge_event_id: idOf(3), cents, overage_downloads },
});

/** As `decide`, of a fold that begins at a revision of the period. */
function decideFrom(first: number, events: UsageEvent[], command: SettlementCommand) {
  const state = events
    .map((event, revision) => ({ event, at: { id: idOf(revision), time: endedAt } }))
    .slice(first)
    .reduce((folded, { event, at }) => evolveSettlement(folded, event, at), newSettlement());
  return decideSettlement(state, command, endedAt);
}

describe('a fold that begins at the charge', () => {
  const warning = warned('downloads', 80, 2, 2);
  const messageId = '<a@example.com>';
  const mailedWarning: UsageEvent = {
    type: 'UsageWarningMailed',
    data: { warning_event_id: idOf(6), pool: 'downloads', threshold_percent: 80, message_id: messageId },
  };
  const lookupVoided: UsageEvent = {
    type: 'MetadataCreditVoided',
    data: { lookup_id: lookupId, charge_event_id: idOf(5) },
  };
  const commands: { first: number; command: SettlementCommand; done: UsageEvent; instead?: UsageEvent }[] = [
    { first: 3, command: { kind: 'confirm_download', token: token(2) }, done: confirmed(2), instead: voided(2, 3, 25) },
    { first: 3, command: { kind: 'void_download', token: token(2) }, done: voided(2, 3, 25), instead: confirmed(2) },
    { first: 5, command: { kind: 'void_lookup', lookupId }, done: lookupVoided },
    { first: 6, command: { kind: 'record_mail', eventIds: [idOf(6)], messageId }, done: mailedWarning },
  ];

  it.each(commands)(
    'or the warning decides as one of the whole period: $command.kind',
    ({ first, command, ...events }) => {
      const { done, instead } = events;
      const after = [
        [],
        [done],
        [ended()],
        [ended(), closed],
        [done, ended(), closed],
        [waived(10, 0)],
        [waived(25, 1)],
      ];
      for (const later of instead ? [...after, [instead], [instead, ended(), closed]] : after) {
        const history = [...used, warning, ...later];
        expect(decideFrom(first, history, command)).toEqual(decide(history, command));
      }
      expect(decideFrom(first, [...used, warning], command)).toEqual([done]);
    },
  );

  it('knows that the books are closed', () => {
    const books = [...used, ended(), closed];
    expect(decideFrom(3, books, { kind: 'void_download', token: token(2) })).toEqual({ refusal: 'period_closed' });
    expect(decideFrom(3, books, { kind: 'confirm_download', token: token(2) })).toEqual([]);
    expect(decideFrom(5, books, { kind: 'void_lookup', lookupId })).toEqual({ refusal: 'period_closed' });
  });

  it('finds nothing where it begins too late', () => {
    const late = decideFrom(4, used, { kind: 'void_download', token: token(2) });
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
  const command: SettlementCommand = { kind: 'void_lookup', lookupId };
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
  const waive = (cents?: number, reference = 'CASE-1'): SettlementCommand => ({
    kind: 'waive_charge',
    token: token(2),
    cents,
    reference,
  });

  it('takes back all that is left, or a part', () => {
    expect(decide(used, waive())).toEqual([waived(25, 1)]);
    expect(decide(used, waive(10))).toEqual([waived(10, 0)]);
    expect(decide([...used, waived(10, 0)], waive(undefined, 'CASE-2'))).toEqual([waived(15, 1, 'CASE-2')]);
  });

  it('may have the reference of that of another charge', () => {
    const others = [...used, waived(25, 1), charge(3), queued(3, true)];
    const another = { ...waive(), token: token(3) } as SettlementCommand;
    expect(decide(others, another)).toMatchObject([{ data: { reference: 'CASE-1', token: token(3), cents: 25 } }]);
  });

  it('of the same reference and charge is made once, and means one thing', () => {
    expect(decide([...used, waived(10, 0)], waive(10))).toEqual([]);
    expect(decide([...used, waived(10, 0)], waive())).toEqual([]);
    expect(decide([...used, waived(10, 0)], waive(11))).toEqual({ refusal: 'reference_reused' });
  });

  it('never takes back more than was charged', () => {
    expect(decide(used, waive(26))).toEqual({ refusal: 'exceeds_charge' });
    expect(decide([...used, waived(10, 0)], waive(16, 'CASE-2'))).toEqual({ refusal: 'exceeds_charge' });
    expect(decide([...used, waived(25, 1)], waive(1, 'CASE-2'))).toEqual({ refusal: 'nothing_to_give_back' });
    expect(decide([...used, voided(2, 3, 25)], waive())).toEqual({ refusal: 'nothing_to_give_back' });
  });

  it('is of money, not of credits', () => {
    const credited: SettlementCommand = { kind: 'waive_charge', token: token(1), reference: 'CASE-1' };
    expect(decide(used, credited)).toEqual({ refusal: 'nothing_to_give_back' });
  });

  it('comes before the books are closed', () => {
    expect(decide([...used, ended()], waive())).toEqual([waived(25, 1)]);
    expect(decide([...used, ended(), closed], waive())).toEqual({ refusal: 'period_closed' });
  });
});

describe('a failure of the service', () => {
  const giveBack = (number: number): SettlementCommand => ({
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
    const void1: SettlementCommand = { kind: 'void_download', token: token(1) };
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

  it('raises what remains, keeps the ordinal, and re-rates nothing', () => {
    const { usage } = settled(...used, creditReturned);
    const before = settled(...used).usage as OpenUsage;
    expect(usage).toEqual({ ...before, downloadCredits: before.downloadCredits - 1 });
  });
});

describe('a warning', () => {
  const reached = [...used, warned('downloads', 80, 2, 2)];
  const command: SettlementCommand = { kind: 'record_mail', eventIds: [idOf(6)], messageId: '<a@example.com>' };
  const mailed: UsageEvent = {
    type: 'UsageWarningMailed',
    data: { warning_event_id: idOf(6), pool: 'downloads', threshold_percent: 80, message_id: '<a@example.com>' },
  };

  it('is recorded as mailed once, even when its period is closed by then', () => {
    expect(decide(reached, command)).toEqual([mailed]);
    expect(decide([...reached, mailed], command)).toEqual([]);
    expect(decide([...reached, ended(), closed], command)).toEqual([mailed]);
  });
});

describe('the books of a period', () => {
  const command: SettlementCommand = { kind: 'close_period', graceSeconds: 3600 };
  const afterGrace = '2026-12-01T01:00:05.000Z';

  it('are closed when the grace is over, with what it comes to', () => {
    expect(decide([...used, ended()], command, '2026-12-01T01:00:04.999Z')).toEqual({ refusal: 'grace_not_over' });
    expect(decide([...used, ended()], command, afterGrace)).toEqual([closed]);
  });

  it('say what is left after corrections', () => {
    const corrected = [...used, ended(), voided(1, 1, 0), waived(25, 1)];
    expect(decide(corrected, command, afterGrace)).toEqual([
      {
        ...closed,
        data: { ...closed.data, downloads: 2, download_credits: 0, overage_downloads: 0, overage_cents: 0 },
      },
    ]);
  });

  it('are closed once, and not before the end', () => {
    expect(decide(used, command, afterGrace)).toEqual({ refusal: 'period_open' });
    expect(decide([...used, ended(), closed], command, afterGrace)).toEqual([]);
  });
});
