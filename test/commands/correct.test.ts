import { beforeAll, describe, expect, it } from 'vitest';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import { recordSignIn, removeStaff } from '../../src/commands/staff.ts';
import { maxChargesOfCorrection, type WantedCorrection } from '../../src/domain/correction-events.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { newId, newUuid } from '../../src/system/clock-and-chance.ts';
import { token, waiveCommand } from '../domain/usage-examples.ts';
import { accepted } from '../support/accepted.ts';
import { sum } from '../support/sum.ts';
import { endAndClose } from './close-books.ts';
import {
  chargedAccount,
  chargeOf,
  correctionsOf,
  desk,
  documentsOf,
  hireTeam,
  limitCents,
  type Team,
  waive,
  waiveAll,
} from './corrections-under-test.ts';
import { correct } from './keyed-downloads.ts';
import { logUnderTest } from './log-under-test.ts';
import { appendingBy } from './noted-reads.ts';
import { hire, operator, staffDependencies, timeoutMs } from './staff-under-test.ts';
import { readUsage, upFrom, type UsageAccount } from './usage-account.ts';

const log = logUnderTest();
const december = '2026-12-01T00:00:00.000Z';

let team: Team;
beforeAll(async () => {
  team = await hireTeam(log.store);
});

async function waivedIn({ stream }: UsageAccount) {
  await readUsage(log.store, stream);
  return (await log.store.read(stream, 0)).map(parseUsageEvent).filter(({ event }) => event.type === 'ChargeWaived');
}

const centsOf = (events: readonly { event: { data: object } }[]) =>
  events.map(({ event }) => (event.data as { cents: number }).cents);

/** An account whose first invoice is issued: three charges of 25 cents. */
async function invoicedAccount(): Promise<UsageAccount> {
  const account = await chargedAccount(log.store, 3);
  await endAndClose(log.store, account, december);
  await invoice(account);
  return account;
}

const invoice = ({ stream }: UsageAccount) =>
  issueInvoice(
    { store: log.store, now: () => december, newUuid },
    { stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs },
  );

const notesOf = async (account: UsageAccount) =>
  (await documentsOf(log.store, account)).filter(({ event }) => event.type === 'CreditNoteIssued');

const credit = (): WantedCorrection => ({ kind: 'credit_line', invoice_number: 1, line: 1 });

describe('what finance asks for within the limit', () => {
  it('is given back at once: the waiver names who asked, and the request as its cause', async () => {
    const account = await chargedAccount(log.store, 2);
    const { ask, carryOut } = desk(log.store, account);
    const asked = accepted(await ask(team.fay, { correction: waive(account, 2), cents: 20 }));
    expect(asked).toMatchObject({ status: 'permitted', cents: 20, needsApproval: false });
    expect(accepted(await carryOut(asked.correctionId))).toMatchObject({ status: 'made', madeCents: 20 });
    const [request, made, ...more] = await correctionsOf(log.store, account);
    expect(more).toEqual([]);
    const actor = { type: 'staff', id: team.fay, role: 'finance', reason: 'the file was broken' };
    expect(request).toMatchObject({ event: { type: 'CorrectionAsked' }, metadata: { actor } });
    expect(made).toMatchObject({ event: { type: 'CorrectionMade', data: { cents: 20 } } });
    expect(made?.metadata).toMatchObject({ actor: { type: 'system', id: 'corrections' }, $causationId: request?.id });
    expect(await waivedIn(account)).toMatchObject([
      {
        event: { data: { token: token(2), cents: 20, reference: 'CASE-1', overage_downloads: 0 } },
        metadata: { actor, $correlationId: asked.correctionId, $causationId: request?.id },
      },
    ]);
  });

  it('without an amount is all that is left; more than that is refused', async () => {
    const account = await chargedAccount(log.store, 2);
    await correct(log.store, account.stream, waiveCommand(token(1), 'OTHER', 10));
    const { ask } = desk(log.store, account);
    expect(await ask(team.fay, { correction: waive(account, 1), cents: 16 })).toEqual({ refusal: 'exceeds_charge' });
    expect(accepted(await ask(team.fay, { correction: waive(account, 1) })).cents).toBe(15);
  });

  it('of several charges takes what is left of each, in one append', async () => {
    const account = await chargedAccount(log.store, 4);
    await correct(log.store, account.stream, { kind: 'void_download', token: token(1) });
    await correct(log.store, account.stream, waiveCommand(token(2), 'OTHER', 5));
    const { ask, carryOut } = desk(log.store, account);
    const asked = accepted(await ask(team.fay, { correction: waiveAll(account, [1, 2, 3]) }));
    expect(asked).toMatchObject({
      cents: 45,
      correction: {
        charges: [
          { ...chargeOf(2), cents: 20 },
          { ...chargeOf(3), cents: 25 },
        ],
      },
    });
    expect(accepted(await carryOut(asked.correctionId))).toMatchObject({ status: 'made', madeCents: 45 });
    expect(centsOf(await waivedIn(account))).toEqual([5, 20, 25]);
  });

  it('of as many charges as may be, with the longest reason, fits into one append', async () => {
    const numbers = upFrom(1, maxChargesOfCorrection);
    const account = await chargedAccount(log.store, maxChargesOfCorrection);
    const dependencies = staffDependencies(log.store);
    const { ask, approve, carryOut } = desk(log.store, account, dependencies);
    const reference = 'R'.repeat(100);
    const asked = accepted(
      await ask(team.fay, { correction: waiveAll(account, numbers), reference, reason: '\u{4e16}'.repeat(500) }),
    );
    accepted(await approve(team.flo, asked.correctionId));
    expect(accepted(await carryOut(asked.correctionId)).madeCents).toBe(25 * maxChargesOfCorrection);
  });

  it('of an invoice is a credit note within what is left of the line', async () => {
    const account = await invoicedAccount();
    const { ask, carryOut } = desk(log.store, account);
    const asked = accepted(await ask(team.fay, { correction: credit(), cents: 70 }));
    expect(accepted(await carryOut(asked.correctionId))).toMatchObject({ status: 'made', madeCents: 70 });
    const [, note] = await documentsOf(log.store, account);
    expect(note).toMatchObject({
      event: { type: 'CreditNoteIssued', data: { cents: 70, reference: 'CASE-1' } },
      metadata: { actor: { id: team.fay, role: 'finance' }, $correlationId: asked.correctionId },
    });
    const other = { correction: credit(), reference: 'CASE-2' };
    expect(await ask(team.fay, { ...other, cents: 6 })).toEqual({ refusal: 'exceeds_charge' });
    expect(accepted(await ask(team.flo, other)).cents).toBe(5);
  });

  it.each<[string, (account: UsageAccount) => WantedCorrection, string]>([
    [
      'a charge that is not there',
      ({ stream }) => ({ kind: 'charges', stream, charges: [{ token: token(9), revision: 1 }] }),
      'charge_not_found',
    ],
    [
      'a charge that stands elsewhere',
      ({ stream }) => ({ kind: 'charges', stream, charges: [{ token: token(1), revision: 3 }] }),
      'charge_not_found',
    ],
    [
      'a charge of another account',
      () => ({ kind: 'charges', stream: 'usage-acc_bbbbbbbbbbbbbbbb-20261101', charges: [chargeOf(1)] }),
      'charge_not_found',
    ],
    ['an invoice that is not there', () => credit(), 'invoice_not_found'],
  ])('is refused for %s', async (_, correction, refusal) => {
    const account = await chargedAccount(log.store, 2);
    expect(await desk(log.store, account).ask(team.fay, { correction: correction(account) })).toEqual({ refusal });
    expect(await correctionsOf(log.store, account)).toEqual([]);
  });

  it('is refused for what is given back already', async () => {
    const account = await chargedAccount(log.store, 2);
    const { ask } = desk(log.store, account);
    await correct(log.store, account.stream, waiveCommand(token(1), 'CASE-1'));
    expect(await ask(team.fay, { correction: waive(account, 1) })).toEqual({ refusal: 'reference_reused' });
    expect(await ask(team.fay, { correction: waive(account, 1), reference: 'CASE-2' })).toEqual({
      refusal: 'nothing_to_give_back',
    });
  });

  it('waits, while the books of its charges are closed, for their invoice', async () => {
    const account = await chargedAccount(log.store, 2);
    const { ask, carryOut } = desk(log.store, account);
    const { correctionId } = accepted(await ask(team.fay, { correction: waive(account, 1) }));
    await endAndClose(log.store, account, december);
    expect(await ask(team.fay, { correction: waive(account, 2) })).toEqual({ refusal: 'invoice_not_found' });
    expect(accepted(await carryOut(correctionId))).toMatchObject({ status: 'permitted' });
    await invoice(account);
    expect(accepted(await carryOut(correctionId))).toMatchObject({ status: 'made', madeCents: 25 });
    expect(await notesOf(account)).toMatchObject([{ event: { data: { cents: 25, charges: [{ token: token(1) }] } } }]);
  });
});

describe('what needs a second person', () => {
  it('is given back once somebody else has approved it, with that as the cause', async () => {
    const account = await chargedAccount(log.store, 2);
    const { ask, approve, carryOut } = desk(log.store, account);
    const asked = accepted(await ask(team.sue, { correction: waive(account, 1) }));
    expect(asked).toMatchObject({ status: 'asked', needsApproval: true });
    expect(await carryOut(asked.correctionId)).toEqual({ refusal: 'correction_not_permitted' });
    expect(await approve(team.sue, asked.correctionId)).toEqual({ refusal: 'role_too_low' });
    expect(accepted(await approve(team.flo, asked.correctionId)).status).toBe('permitted');
    expect(accepted(await carryOut(asked.correctionId)).status).toBe('made');
    const [, approved] = await correctionsOf(log.store, account);
    expect(approved?.metadata.actor).toMatchObject({ id: team.flo, role: 'finance' });
    const [waived] = await waivedIn(account);
    expect(waived?.metadata).toMatchObject({ actor: { id: team.sue, role: 'support' }, $causationId: approved?.id });
  });

  it('is not approved by the person who asked, nor by somebody who has been removed', async () => {
    const account = await chargedAccount(log.store, 5);
    const gus = await hire(log.store, 'finance');
    const { ask, approve, refuse } = desk(log.store, account);
    const asked = accepted(await ask(gus, { correction: waiveAll(account, [1, 2, 3, 4, 5]) }));
    expect(asked).toMatchObject({ cents: 125, needsApproval: true });
    expect(await approve(gus, asked.correctionId)).toEqual({ refusal: 'own_request' });
    accepted(await removeStaff(staffDependencies(log.store), { staffId: team.ada, by: { operator }, timeoutMs }));
    expect(await approve(team.ada, asked.correctionId)).toEqual({ refusal: 'staff_removed' });
    expect(await ask(team.ada, { correction: waive(account, 1) })).toEqual({ refusal: 'staff_removed' });
    expect(accepted(await refuse(gus, asked.correctionId)).status).toBe('refused');
    expect(await approve(team.flo, asked.correctionId)).toEqual({ refusal: 'correction_decided' });
    expect(await waivedIn(account)).toEqual([]);
  });
});

describe('somebody who is staff twice', () => {
  const provider = { by: 'provider', issuer: 'https://login.example', subject: 's' } as const;
  const signIn = async (staffId: string, email: string | null, unverified_email: string | null = null) =>
    accepted(
      await recordSignIn(staffDependencies(log.store), {
        staffId,
        signIn: { ...provider, role: 'finance', email, unverified_email },
        timeoutMs,
      }),
    );
  const ofProvider = async (email: string | null, unverified: string | null = null) => {
    const staffId = newId('stf');
    await signIn(staffId, email, unverified);
    return staffId;
  };
  const newEmail = () => `pat-${newUuid()}@example.com`;

  it.each<[string, (email: string) => Promise<[first: string, second: string]>]>([
    [
      'invited, and known to the provider',
      async (email) => {
        const second = newId('stf');
        await signIn(second, email.toUpperCase());
        return [await hire(log.store, 'finance', email), second];
      },
    ],
    [
      'by an address that the provider has changed since',
      async (email) => {
        const second = newId('stf');
        await signIn(second, email);
        await signIn(second, newEmail());
        return [await hire(log.store, 'finance', email), second];
      },
    ],
    [
      'by an address that the provider has not verified',
      async (email) => [await ofProvider(null, email), await ofProvider(null, email.toUpperCase())],
    ],
    [
      'by an address that was verified only once',
      async (email) => [await hire(log.store, 'finance', email), await ofProvider(null, email)],
    ],
    [
      'by two names of one mailbox',
      async (email) => [
        await hire(log.store, 'finance', email.replace('@', '+one@')),
        await ofProvider(email.replace('@', '+Two+x@').toUpperCase()),
      ],
    ],
    [
      'removed, and invited anew',
      async (email) => {
        const first = await hire(log.store, 'finance', email);
        return [first, await hire(log.store, 'finance', email)];
      },
    ],
  ])('%s, approves nothing of their own, and has one limit', async (_, become) => {
    const account = await chargedAccount(log.store, 6);
    const [first, second] = await become(newEmail());
    const dependencies = staffDependencies(log.store);
    const { ask, approve } = desk(log.store, account, dependencies);
    const large = accepted(await ask(first, { correction: waiveAll(account, [1, 2, 3, 4, 5]) }));
    expect(large.needsApproval).toBe(true);
    expect(await approve(second, large.correctionId)).toEqual({ refusal: 'own_request' });
    const small = accepted(await ask(second, { correction: waive(account, 6), reference: 'CASE-2' }));
    expect(small.needsApproval).toBe(true);
    expect(await approve(first, small.correctionId)).toEqual({ refusal: 'own_request' });
    accepted(await removeStaff(dependencies, { staffId: first, by: { operator }, timeoutMs }));
    expect(await approve(second, large.correctionId)).toEqual({ refusal: 'own_request' });
    expect(accepted(await approve(team.flo, large.correctionId)).status).toBe('permitted');
  });

  it.each<[string, (email: string) => Promise<[string, string]>]>([
    ['neither', async () => [await ofProvider(null), await ofProvider(null)]],
    ['not the first', async (email) => [await ofProvider(null), await ofProvider(email)]],
    ['not the second', async (email) => [await hire(log.store, 'finance', email), await ofProvider(null)]],
  ])('may be, if %s has an address: approves nothing of the other, and they have one limit', async (who, become) => {
    const account = await chargedAccount(log.store, 6);
    const [first, second] = await become(newEmail());
    const { ask, approve } = desk(log.store, account);
    const large = accepted(await ask(first, { correction: waiveAll(account, [1, 2, 3, 4, 5]) }));
    expect(await approve(second, large.correctionId)).toEqual({ refusal: 'own_request' });
    const small = accepted(await ask(second, { correction: waive(account, 6), reference: 'CASE-2' }));
    expect(small.needsApproval).toBe(true);
    // From the sign-in on that names an address of each, they are two.
    await signIn(second, newEmail());
    if (who !== 'not the second') await signIn(first, newEmail());
    expect(accepted(await approve(second, large.correctionId)).status).toBe('permitted');
  });

  it('asks at the same time under both ids, and exceeds the limit under neither', async () => {
    for (let round = 0; round < 5; round += 1) {
      const account = await chargedAccount(log.store, 6);
      const email = newEmail();
      const both = [await hire(log.store, 'finance', email), await hire(log.store, 'finance', email)];
      const asked = await Promise.all(
        upFrom(1, 6).map((number) =>
          desk(log.store, account).ask(both[number % 2] ?? '', {
            correction: waive(account, number),
            reference: `CASE-${String(number)}`,
          }),
        ),
      );
      const free = asked.map(accepted).filter(({ needsApproval }) => !needsApproval);
      expect(free).toHaveLength(limitCents / 25);
    }
  });
});

it('the same form sent twice asks once, and gives back once', async () => {
  const account = await chargedAccount(log.store, 1);
  const { ask, carryOut } = desk(log.store, account);
  const form = { correction: waive(account, 1), correctionId: newUuid() };
  const send = async () => carryOut(accepted(await ask(team.fay, form)).correctionId);
  for (const ended of [...(await Promise.all([send(), send(), send()])), await send()])
    expect(ended).toMatchObject({ status: 'made', madeCents: 25 });
  expect((await correctionsOf(log.store, account)).map(({ event }) => event.type)).toEqual([
    'CorrectionAsked',
    'CorrectionMade',
  ]);
  expect(centsOf(await waivedIn(account))).toEqual([25]);
});

describe('what has changed since', () => {
  it('leaves less to give back, or nothing: then it has failed, and leaves room for another request', async () => {
    const account = await chargedAccount(log.store, 2);
    const { ask, carryOut } = desk(log.store, account);
    const one = accepted(await ask(team.fay, { correction: waive(account, 1) }));
    const both = accepted(await ask(team.fay, { correction: waiveAll(account, [1, 2]), reference: 'CASE-2' }));
    const again = accepted(await ask(team.fay, { correction: waive(account, 2), reference: 'CASE-3' }));
    await correct(log.store, account.stream, waiveCommand(token(1), 'OTHER', 5));
    expect(accepted(await carryOut(one.correctionId))).toMatchObject({ status: 'made', cents: 25, madeCents: 20 });
    expect(accepted(await carryOut(both.correctionId))).toMatchObject({ status: 'made', cents: 50, madeCents: 25 });
    const failed = { status: 'failed', why: 'nothing_to_give_back' };
    expect(accepted(await carryOut(again.correctionId))).toMatchObject(failed);
    expect(accepted(await carryOut(again.correctionId))).toMatchObject(failed);
    expect(centsOf(await waivedIn(account))).toEqual([5, 20, 25]);
  });

  it('was given back at the command line under the same reference: that does not count as given', async () => {
    const account = await chargedAccount(log.store, 1);
    const { ask, carryOut } = desk(log.store, account);
    const { correctionId } = accepted(await ask(team.fay, { correction: waive(account, 1) }));
    await correct(log.store, account.stream, waiveCommand(token(1), 'CASE-1'));
    expect(accepted(await carryOut(correctionId))).toMatchObject({ status: 'failed', why: 'nothing_to_give_back' });
  });

  it('is the close of the books: what waits for approval then is credited, each charge by its name', async () => {
    const account = await chargedAccount(log.store, 4);
    const { ask, approve, carryOut } = desk(log.store, account);
    const three = waiveAll(account, [1, 3, 4]);
    const { correctionId } = accepted(await ask(team.sue, { correction: three, cents: 20 }));
    await correct(log.store, account.stream, waiveCommand(token(3), 'OTHER', 10));
    await correct(log.store, account.stream, { kind: 'void_download', token: token(4) });
    await endAndClose(log.store, account, december);
    await invoice(account);
    accepted(await approve(team.flo, correctionId));
    expect(accepted(await carryOut(correctionId))).toMatchObject({ status: 'made', cents: 60, madeCents: 35 });
    const charges = (await log.store.read(account.stream, 0)).filter(({ type }) => type === 'OverageCharged');
    const [, approved] = await correctionsOf(log.store, account);
    expect(await notesOf(account)).toMatchObject([
      {
        event: {
          data: {
            reference: 'CASE-1',
            invoice_number: 1,
            line: 1,
            charges: [
              { token: token(1), charge_event_id: charges[0]?.id, cents: 20 },
              { token: token(3), charge_event_id: charges[2]?.id, cents: 15 },
            ],
            cents: 35,
          },
        },
        metadata: { actor: { id: team.sue, role: 'support' }, $causationId: approved?.id },
      },
    ]);
  });
});

describe('charges of closed books', () => {
  it('are credited by one note for all, within what is left of each', async () => {
    const account = await invoicedAccount();
    const { ask, carryOut } = desk(log.store, account);
    const exceeds = { refusal: 'exceeds_charge' };
    expect(await ask(team.fay, { correction: waiveAll(account, [1, 2]), cents: 26 })).toEqual(exceeds);
    const two = accepted(await ask(team.fay, { correction: waiveAll(account, [1, 2]), cents: 10 }));
    expect(accepted(await carryOut(two.correctionId))).toMatchObject({ status: 'made', madeCents: 20 });
    const reused = { refusal: 'reference_reused' };
    expect(await ask(team.fay, { correction: waiveAll(account, [2, 3]) })).toEqual(reused);
    expect(await ask(team.fay, { correction: waive(account, 1), cents: 16, reference: 'CASE-2' })).toEqual(exceeds);
    const all = accepted(await ask(team.fay, { correction: waiveAll(account, [1, 2, 3]), reference: 'CASE-2' }));
    expect(all.cents).toBe(55);
    expect(accepted(await carryOut(all.correctionId)).madeCents).toBe(55);
    expect(await ask(team.fay, { correction: waive(account, 1), reference: 'CASE-3' })).toEqual({
      refusal: 'nothing_to_give_back',
    });
    expect((await notesOf(account)).map(({ event }) => event.data)).toMatchObject([
      { number: 1, cents: 20, charges: [{ cents: 10 }, { cents: 10 }] },
      { number: 2, cents: 55, charges: [{ cents: 15 }, { cents: 15 }, { cents: 25 }] },
    ]);
  });
});

class Killed extends Error {}

/** A process that is killed before or after its next append to a stream. */
function killedAt(stream: string, when: 'before' | 'after'): EventStore {
  return appendingBy(log.store, async (to, ...rest) => {
    if (to === stream && when === 'before') throw new Killed();
    const outcome = await log.store.append(to, ...rest);
    if (to === stream) throw new Killed();
    return outcome;
  });
}

describe('a process that is killed', () => {
  const kinds: [string, () => Promise<{ account: UsageAccount; correction: WantedCorrection; money: string }>][] = [
    [
      'a waiver',
      async () => {
        const account = await chargedAccount(log.store, 2);
        return { account, correction: waive(account, 2), money: account.stream };
      },
    ],
    [
      'several waivers',
      async () => {
        const account = await chargedAccount(log.store, 3);
        return { account, correction: waiveAll(account, [1, 3]), money: account.stream };
      },
    ],
    [
      'a credit note about charges',
      async () => {
        const account = await invoicedAccount();
        return { account, correction: waiveAll(account, [1, 3]), money: `invoices-${account.accountId}` };
      },
    ],
    [
      'a credit note',
      async () => {
        const account = await invoicedAccount();
        return { account, correction: credit(), money: `invoices-${account.accountId}` };
      },
    ],
  ];

  it.each(kinds)(
    'before or after %s, or after its end, leaves what another gives back exactly once',
    async (_, given) => {
      for (const [where, when] of [
        ['money', 'before'],
        ['money', 'after'],
        ['request', 'before'],
        ['request', 'after'],
      ] as const) {
        const { account, correction, money } = await given();
        const asked = accepted(await desk(log.store, account).ask(team.fay, { correction }));
        const killed = killedAt(where === 'money' ? money : `corrections-${account.accountId}`, when);
        await expect(desk(killed, account).carryOut(asked.correctionId)).rejects.toThrow(Killed);
        // A close in between takes nothing back, and a repeated attempt finds what was given.
        const isWaived = money === account.stream;
        if (isWaived && !(where === 'money' && when === 'before')) await endAndClose(log.store, account, december);
        const ended = accepted(await desk(log.store, account).carryOut(asked.correctionId));
        expect(ended).toMatchObject({ status: 'made', madeCents: asked.cents });
        const given_ = isWaived ? await waivedIn(account) : await notesOf(account);
        expect(sum(centsOf(given_))).toBe(asked.cents);
        expect((await correctionsOf(log.store, account)).map(({ event }) => event.type)).toEqual([
          'CorrectionAsked',
          'CorrectionMade',
        ]);
      }
    },
  );
});

it('the limit of a day holds for a person and an account, over all requests at once', async () => {
  const account = await chargedAccount(log.store, 8);
  const asked = await Promise.all(
    upFrom(1, 8).map((number) =>
      desk(log.store, account).ask(team.fay, {
        correction: waive(account, number),
        reference: `CASE-${String(number)}`,
      }),
    ),
  );
  const free = asked.map(accepted).filter(({ needsApproval }) => !needsApproval);
  expect(sum(free.map(({ cents }) => cents))).toBe(limitCents);
});
