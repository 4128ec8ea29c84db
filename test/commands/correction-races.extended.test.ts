import { beforeAll, expect, it } from 'vitest';
import { NotStored, OutcomeUnknown } from '../../src/commands/handler/handle-command.ts';
import { issueInvoice } from '../../src/commands/issue-invoice.ts';
import type { WantedCorrection } from '../../src/domain/correction-events.ts';
import type { StaffActor } from '../../src/domain/correction-requests.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { EventStoreUnavailable } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { Random } from '../audit/random.ts';
import { waiveCommand } from '../domain/usage-examples.ts';
import { scaled } from '../support/proof-scale.ts';
import { sum } from '../support/sum.ts';
import { patienceMs } from '../support/wait-for.ts';
import { endAndClose } from './close-books.ts';
import {
  chargedAccount,
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
import { hire } from './staff-under-test.ts';
import { readUsage, upFrom, type UsageAccount } from './usage-account.ts';

/**
 * Everybody at once: staff of each role, one of them under two ids, ask for the same charges, approve, refuse and carry out, each as a process of its own;
 * the command line waives, the period is closed and invoiced. Whatever the order is, a charge gives back at most what it took, by
 * waivers and credit notes together, what is permitted ends, and nobody gives back more than the limit without a second person.
 */
const races = scaled(15, 1_000);
const seed = Number(process.env['PROOF_SEED'] ?? 1);
const downloads = 6;
const december = '2026-12-01T00:00:00.000Z';

const log = logUnderTest();
let team: Team & { fayAgain: string };
beforeAll(async () => {
  const email = `fay-${newUuid()}@example.com`;
  const hireFay = () => hire(log.store, 'finance', email);
  team = { ...(await hireTeam(log.store)), fay: await hireFay(), fayAgain: await hireFay() };
});

/** Fay is a member twice. */
const personOf = (staffId: string) => (staffId === team.fayAgain ? team.fay : staffId);

interface Form {
  by: string;
  correctionId: string;
  correction: WantedCorrection;
  reference: string;
}

const members = ['sue', 'fay', 'fayAgain', 'flo', 'ada'] as const;

function drawForm(random: Random, account: UsageAccount): Form {
  const number = 1 + random.below(downloads);
  const numbers = upFrom(1, downloads).filter((each) => each >= number);
  return {
    by: team[random.pick(members)],
    correctionId: newUuid(),
    correction: random.below(4) === 0 ? waiveAll(account, numbers) : waive(account, number),
    reference: random.pick(['CASE-1', 'CASE-2', 'CASE-3', 'CASE-4', 'CASE-5', 'CASE-6']),
  };
}

/** Everybody acts at once. */
async function race(random: Random, account: UsageAccount): Promise<void> {
  const forms = upFrom(1, 5).map(() => drawForm(random, account));
  const process = () => desk(log.store, account);
  /** Answers may be refusals; only what is thrown fails the test. */
  const send = async ({ by, ...form }: Form) => {
    const asked = await process().ask(by, form);
    if (!isRefused(asked) && asked.status === 'permitted' && random.below(3) > 0)
      await process().carryOut(asked.correctionId);
  };
  const decideOn = async ({ correctionId }: Form) => {
    const person = team[random.pick(members)];
    if (random.below(3) === 0) await process().refuse(person, correctionId);
    else await process().approve(person, correctionId);
    if (random.below(2) === 0) await process().carryOut(correctionId);
  };
  const steps: (() => Promise<unknown>)[] = [
    // Each form twice, as a person sends it who clicks twice.
    ...[...forms, ...forms].map((form) => () => send(form)),
    ...[...forms, ...forms, ...forms].map((form) => () => send(form).then(() => decideOn(form))),
  ];
  if (random.below(2) === 0)
    steps.push(() => correct(log.store, account.stream, waiveCommand(tokenOf(forms), 'CASE-1', 7)));
  if (random.below(2) === 0)
    steps.push(async () => {
      await endAndClose(log.store, account, december);
      await invoice(account);
    });
  // A step that a busy log has cut off is as good as one of a process that was killed.
  const isCutOff = (error: unknown) =>
    [EventStoreUnavailable, NotStored, OutcomeUnknown].some((kind) => error instanceof kind);
  const cutOff = (error: unknown) => {
    if (!isCutOff(error)) throw error;
  };
  await Promise.all(random.shuffled(steps).map((step) => step().catch(cutOff)));
}

function tokenOf([form]: readonly Form[]): string {
  const { correction } = form!;
  return correction.kind === 'charges' ? correction.charges[0]!.token : '';
}

const invoice = ({ stream }: UsageAccount) =>
  issueInvoice(
    { store: log.store, now: () => december, newUuid },
    { stream, covers: 'period', actor: { type: 'system', id: 'test' }, timeoutMs: patienceMs },
  );

it(`gives back once or not at all, never above the charge, in ${String(races)} races`, async () => {
  const random = new Random(seed);
  const types: string[] = [];
  for (let round = 0; round < races; round += 1) types.push(...(await runRace(random)));
  // The races have been about something.
  for (const type of ['CorrectionMade', 'CorrectionFailed', 'CorrectionRefused', 'ChargeWaived', 'CreditNoteIssued'])
    expect(types).toContain(type);
});

async function runRace(random: Random): Promise<string[]> {
  const account = await chargedAccount(log.store, downloads);
  await race(random, account);
  const isClosed = (await log.store.read(account.stream, 0)).some(({ type }) => type === 'UsagePeriodClosed');
  // The race may have cut the invoice off.
  if (isClosed) await invoice(account);
  // What the dispatcher does with those that nobody has carried out.
  for (const { event } of await correctionsOf(log.store, account))
    if (event.type === 'CorrectionAsked') await desk(log.store, account).carryOut(event.data.correction_id);
  return judge(account);
}

/** @returns the types of all events of the account's corrections */
async function judge(account: UsageAccount): Promise<string[]> {
  await readUsage(log.store, account.stream);
  const usage = (await log.store.read(account.stream, 0)).map(parseUsageEvent);
  const requests = await correctionsOf(log.store, account);
  const waivers = usage.flatMap(({ event, id, metadata }) =>
    event.type === 'ChargeWaived' ? [{ type: event.type, id, metadata, ...event.data, charges: [event.data] }] : [],
  );
  const notes = (await documentsOf(log.store, account)).flatMap(({ event, id, metadata }) =>
    event.type === 'CreditNoteIssued' ? [{ type: event.type, id, metadata, ...event.data }] : [],
  );
  const givenBack = [...waivers, ...notes];
  const parts = givenBack.flatMap(({ reference, charges }) => charges.map((charge) => ({ ...charge, reference })));
  for (const token of new Set(parts.map((part) => part.token))) {
    const ofCharge = parts.filter((part) => part.token === token);
    expect(sum(ofCharge.map(({ cents }) => cents))).toBeLessThanOrEqual(25);
    expect(new Set(ofCharge.map(({ reference }) => reference)).size).toBe(ofCharge.length);
  }
  for (const { cents, charges } of notes) expect(cents).toBe(sum(charges.map((charge) => charge.cents)));
  const free = new Map<string, number>();
  const explained = new Set<string>();
  for (const { event, id, metadata } of requests) {
    if (event.type !== 'CorrectionAsked') continue;
    const { correction_id, cents, needs_approval } = event.data;
    const asker = metadata.actor as StaffActor;
    const of = requests.filter((other) => other.event.data.correction_id === correction_id);
    const find = (type: string) => of.filter((other) => other.event.type === type);
    const [approval, ...approvals] = find('CorrectionApproved');
    const [ended, ...ends] = ['CorrectionMade', 'CorrectionFailed', 'CorrectionRefused'].flatMap(find);
    expect([...approvals, ...ends, ...find('CorrectionAsked').slice(1)]).toEqual([]);
    expect(of.at(-1)).toBe(ended ?? approval ?? of[0]);
    const permission = needs_approval ? approval?.id : id;
    if (approval) {
      const { actor } = approval.metadata as { actor: StaffActor };
      expect(personOf(actor.id)).not.toBe(personOf(asker.id));
      expect(['finance', 'admin']).toContain(actor.role);
    }
    const given = givenBack.filter((each) => permission !== undefined && each.metadata.$causationId === permission);
    // All of it in one of the two ways.
    expect(new Set(given.map(({ type }) => type)).size).toBeLessThanOrEqual(1);
    for (const each of given) {
      explained.add(each.id);
      expect(each.metadata.actor).toEqual(asker);
    }
    const givenCents = sum(given.map((each) => each.cents));
    expect(givenCents).toBeLessThanOrEqual(cents);
    // Permitted, it has ended; what it gave back is what its end says.
    if (permission !== undefined) expect(['CorrectionMade', 'CorrectionFailed']).toContain(ended?.event.type);
    expect(givenCents).toBe(ended?.event.type === 'CorrectionMade' ? ended.event.data.cents : 0);
    const isDone = ended?.event.type === 'CorrectionMade';
    const person = personOf(asker.id);
    if (isDone && !needs_approval) free.set(person, (free.get(person) ?? 0) + cents);
  }
  for (const cents of free.values()) expect(cents).toBeLessThanOrEqual(limitCents);
  const atCommandLine = givenBack.filter(({ id }) => !explained.has(id));
  expect(atCommandLine.every(({ metadata }) => metadata.actor.type !== 'staff')).toBe(true);
  expect(free.has(team.sue)).toBe(false);
  return [...requests.map(({ event }) => event.type), ...givenBack.map(({ type }) => type)];
}
