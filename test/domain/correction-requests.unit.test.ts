import { describe, expect, it } from 'vitest';
import type { Correction } from '../../src/domain/correction-events.ts';
import {
  type AskCorrection,
  type CorrectionRequestCommand,
  type CorrectionRequests,
  decideCorrectionRequest,
  evolveCorrectionRequests,
  newCorrectionRequests,
  type Operator,
  type StaffActor,
} from '../../src/domain/correction-requests.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { numberedUuid } from '../support/numbered-uuid.ts';
import { accountId, token } from './usage-examples.ts';

const noon = '2026-11-14T12:00:00.000Z';
const aDayLater = '2026-11-15T12:00:00.000Z';
const justBefore = '2026-11-15T11:59:59.999Z';
const stream = `usage-${accountId}-20261101`;

const person = (id: string, role: StaffActor['role']): StaffActor => ({
  type: 'staff',
  id: `stf_${id.padEnd(20, 'a')}`,
  role,
  reason: 'the file was broken',
});
const sue = person('sue', 'support');
const fay = person('fay', 'finance');
const flo = person('flo', 'finance');
const ada = person('ada', 'admin');

const waiveAll = (...numbers: number[]): Correction => ({
  kind: 'charges',
  stream,
  charges: numbers.map((number) => ({ token: token(number), revision: 2 * number - 1, cents: 25 })),
});
const waive = (number: number): Correction => waiveAll(number);
const credit = (line: number): Correction => ({ kind: 'credit_line', invoice_number: 1, line });

const ask = (number: number, changed: Partial<AskCorrection> = {}): AskCorrection => ({
  kind: 'ask',
  correctionId: numberedUuid(number),
  accountId,
  reference: `CASE-${String(number)}`,
  correction: waive(number),
  cents: 25,
  limitCents: 100,
  by: fay,
  ...changed,
});
const approve = (number: number, by = ada): CorrectionRequestCommand => ({
  kind: 'approve',
  correctionId: numberedUuid(number),
  by,
});
const refuse = (number: number, by = ada): CorrectionRequestCommand => ({
  kind: 'refuse',
  correctionId: numberedUuid(number),
  by,
});
const made = (number: number): CorrectionRequestCommand => ({
  kind: 'made',
  correctionId: numberedUuid(number),
  cents: 25,
});
const failed = (number: number): CorrectionRequestCommand => ({
  kind: 'failed',
  correctionId: numberedUuid(number),
  why: 'period_closed',
});

/** What is there after these commands, none of which is refused. */
function after(...commands: CorrectionRequestCommand[]): CorrectionRequests {
  const requests = newCorrectionRequests();
  for (const command of commands) {
    const decided = decideCorrectionRequest(requests, command, noon);
    if (isRefused(decided)) throw new Error(decided.refusal);
    const actor = 'by' in command ? command.by : ({ type: 'system', id: 'corrections' } as const);
    for (const event of decided)
      evolveCorrectionRequests(requests, event, { id: `event of ${event.type}`, time: noon, actor });
  }
  return requests;
}

const decide = (requests: CorrectionRequests, command: CorrectionRequestCommand, now = noon) =>
  decideCorrectionRequest(requests, command, now);

const needsApproval = (requests: CorrectionRequests, command: AskCorrection, now = noon): boolean | undefined => {
  const decided = decide(requests, command, now);
  const [asked] = isRefused(decided) ? [] : decided;
  return asked?.type === 'CorrectionAsked' ? asked.data.needs_approval : undefined;
};

describe('asking', () => {
  it('names the amount, the limit of then, and whether somebody else has to approve it', () => {
    expect(decide(after(), ask(1))).toEqual([
      {
        type: 'CorrectionAsked',
        data: {
          correction_id: numberedUuid(1),
          account_id: accountId,
          reference: 'CASE-1',
          correction: waive(1),
          cents: 25,
          limit_cents: 100,
          needs_approval: false,
        },
      },
    ]);
  });

  it('by support always needs approval, by finance and admin only beyond the limit', () => {
    expect(needsApproval(after(), ask(1, { by: sue, cents: 1 }))).toBe(true);
    for (const by of [fay, ada]) {
      expect(needsApproval(after(), ask(1, { by, cents: 100 }))).toBe(false);
      expect(needsApproval(after(), ask(1, { by, cents: 101 }))).toBe(true);
    }
  });

  it('counts what the same person has asked for within 24 hours, whoever approved it', () => {
    const requests = after(ask(1, { cents: 60 }), ask(2, { cents: 41 }), approve(2));
    expect(needsApproval(requests, ask(3, { cents: 1 }))).toBe(true);
    expect(needsApproval(requests, ask(3, { cents: 100, by: flo }))).toBe(false);
    expect(needsApproval(requests, ask(3, { cents: 1 }), justBefore)).toBe(true);
    expect(needsApproval(requests, ask(3, { cents: 100 }), aDayLater)).toBe(false);
  });

  it('does not count what was refused or has failed', () => {
    const requests = after(ask(1, { cents: 200 }), refuse(1), ask(2, { cents: 90 }), failed(2));
    expect(needsApproval(requests, ask(3, { cents: 100 }))).toBe(false);
    expect(needsApproval(requests, ask(3, { cents: 101 }))).toBe(true);
  });

  it('the same again yields nothing new, also once nothing is left; something else under its id is refused', () => {
    const requests = after(ask(1), made(1));
    expect(decide(requests, ask(1, { cents: 1 }))).toEqual([]);
    for (const changed of [{ reference: 'OTHER' }, { correction: waive(2) }, { by: flo }])
      expect(decide(requests, ask(1, changed))).toEqual({ refusal: 'reference_reused' });
  });

  it.each([
    ['the same charge', waive(1), waive(1), true],
    ['the same charge among others', waive(2), waiveAll(1, 2), true],
    ['other charges', waiveAll(1, 2), waiveAll(3), false],
    ['another credit note', credit(1), credit(2), true],
    ['a charge, and a line of an invoice', waive(1), credit(1), false],
  ])('under a used reference, for %s', (_, first, second, isRefusedThen) => {
    const reference = 'CASE-1';
    const command = ask(2, { reference, correction: second });
    const refused = { refusal: 'reference_reused' };
    const asked = expect.any(Array) as unknown;
    expect(decide(after(ask(1, { correction: first })), command)).toEqual(isRefusedThen ? refused : asked);
    expect(decide(after(ask(1, { correction: first, by: sue }), refuse(1)), command)).toEqual(asked);
    expect(decide(after(ask(1, { correction: first }), failed(1)), command)).toEqual(asked);
  });
});

describe('a request that waits', () => {
  const waiting = () => after(ask(1, { by: fay, cents: 200 }));

  it('is approved by somebody else of finance, once', () => {
    const approved = [{ type: 'CorrectionApproved', data: { correction_id: numberedUuid(1) } }];
    expect(decide(waiting(), approve(1, flo))).toEqual(approved);
    expect(decide(waiting(), approve(1, ada))).toEqual(approved);
    expect(decide(waiting(), approve(1, fay))).toEqual({ refusal: 'own_request' });
    expect(decide(waiting(), approve(1, sue))).toEqual({ refusal: 'role_too_low' });
    expect(decide(waiting(), approve(9, ada))).toEqual({ refusal: 'correction_not_found' });
    expect(decide(after(ask(1, { cents: 200 }), approve(1)), approve(1, flo))).toEqual([]);
  });

  it('is refused by finance, or taken back by the person who asked', () => {
    const refused = [{ type: 'CorrectionRefused', data: { correction_id: numberedUuid(1) } }];
    expect(decide(waiting(), refuse(1, flo))).toEqual(refused);
    expect(decide(waiting(), refuse(1, fay))).toEqual(refused);
    expect(decide(waiting(), refuse(1, sue))).toEqual({ refusal: 'role_too_low' });
    const ofSupport = after(ask(1, { by: sue }));
    expect(decide(ofSupport, refuse(1, sue))).toEqual(refused);
    expect(decide(after(ask(1, { by: sue }), refuse(1)), refuse(1))).toEqual([]);
  });

  it('is not carried out', () => {
    expect(decide(waiting(), made(1))).toEqual({ refusal: 'correction_not_permitted' });
    expect(decide(waiting(), failed(1))).toEqual({ refusal: 'correction_not_permitted' });
  });
});

it('is decided once: nothing is approved after a refusal, and nothing refused after a permission', () => {
  expect(decide(after(ask(1, { by: sue }), refuse(1)), approve(1))).toEqual({ refusal: 'correction_decided' });
  expect(decide(after(ask(1, { by: sue }), refuse(1)), made(1))).toEqual({ refusal: 'correction_not_permitted' });
  expect(decide(after(ask(1, { by: sue }), approve(1)), refuse(1))).toEqual({ refusal: 'correction_decided' });
  expect(decide(after(ask(1)), refuse(1))).toEqual({ refusal: 'correction_decided' });
});

it('ends once, as made or as failed', () => {
  for (const [end, type] of [
    [made(1), 'CorrectionMade'],
    [failed(1), 'CorrectionFailed'],
  ] as const) {
    expect(decide(after(ask(1)), end)).toMatchObject([{ type }]);
    for (const again of [made(1), failed(1)]) expect(decide(after(ask(1), end), again)).toEqual([]);
    expect(decide(after(ask(1), end), refuse(1))).toEqual({ refusal: 'correction_decided' });
  }
});

it('knows the event that permits it: the request itself, or the approval', () => {
  expect(after(ask(1)).get(numberedUuid(1))).toMatchObject({
    status: 'permitted',
    permittedBy: 'event of CorrectionAsked',
  });
  expect(after(ask(1, { by: sue })).get(numberedUuid(1))).toMatchObject({
    status: 'asked',
    permittedBy: null,
    askedBy: sue,
  });
  expect(after(ask(1, { by: sue }), approve(1)).get(numberedUuid(1))).toMatchObject({
    status: 'permitted',
    permittedBy: 'event of CorrectionApproved',
  });
});

describe('an operator', () => {
  const operator = (id: string): Operator => ({ type: 'staff', id, role: 'operator', reason: 'the file was broken' });
  const [maria, otto] = [operator('maria'), operator('otto')];

  it('needs no approval, above the limit either', () => {
    expect(needsApproval(after(), ask(1, { by: maria, cents: 101 }))).toBe(false);
  });

  it('may go on with the command of another, and nobody else may', () => {
    const requests = after(ask(1, { by: maria }));
    expect(decide(requests, ask(1, { by: otto }))).toEqual([]);
    expect(decide(requests, ask(1, { by: fay }))).toEqual({ refusal: 'reference_reused' });
  });
});

it('a request is the same only with a correction of the same kind', () => {
  expect(decide(after(ask(1)), ask(1, { correction: credit(1) }))).toEqual({ refusal: 'reference_reused' });
});

it('another reference may be about the same charge, and the same reference about a charge of another period', () => {
  const asked = [{ type: 'CorrectionAsked' }];
  expect(decide(after(ask(1)), ask(2, { correction: waive(1) }))).toMatchObject(asked);
  const ofOctober: Correction = {
    kind: 'charges',
    stream: `usage-${accountId}-20261001`,
    charges: [{ token: token(1), revision: 1, cents: 25 }],
  };
  expect(decide(after(ask(1)), ask(2, { reference: 'CASE-1', correction: ofOctober }))).toMatchObject(asked);
});

it('says what it has given back, or why it gave nothing', () => {
  const id = numberedUuid(1);
  expect(after(ask(1), made(1)).get(id)).toMatchObject({ status: 'made', madeCents: 25, why: null });
  expect(after(ask(1), failed(1)).get(id)).toMatchObject({ status: 'failed', madeCents: null, why: 'period_closed' });
});
