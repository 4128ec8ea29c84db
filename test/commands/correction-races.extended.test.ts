import { beforeAll, expect, it } from 'vitest';
import { NotStored, OutcomeUnknown } from '../../src/commands/handler/handle-command.ts';
import type { Correction } from '../../src/domain/correction-events.ts';
import type { StaffActor } from '../../src/domain/correction-requests.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { EventStoreUnavailable } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { Random } from '../audit/random.ts';
import { scaled } from '../support/proof-scale.ts';
import { sum } from '../support/sum.ts';
import { endAndClose } from './close-books.ts';
import {
  chargedAccount,
  correctionsOf,
  desk,
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
 * the command line waives, the period is closed. Whatever the order is, a charge gives back at most what it took, what is
 * permitted ends, and nobody gives back more than the limit without a second person.
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
  correction: Correction;
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
    steps.push(() =>
      correct(log.store, account.stream, {
        kind: 'waive_charge',
        token: tokenOf(forms),
        cents: 7,
        reference: 'CASE-1',
      }),
    );
  if (random.below(3) === 0) steps.push(() => endAndClose(log.store, account, december));
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
  if (correction.kind === 'waive_charge') return correction.token;
  return correction.kind === 'waive_charges' ? correction.charges[0]!.token : '';
}

it(`gives back once or not at all, never above the charge, in ${String(races)} races`, async () => {
  const random = new Random(seed);
  const types: string[] = [];
  for (let round = 0; round < races; round += 1) types.push(...(await runRace(random)));
  // The races have been about something.
  for (const type of ['CorrectionMade', 'CorrectionFailed', 'CorrectionRefused']) expect(types).toContain(type);
});

async function runRace(random: Random): Promise<string[]> {
  const account = await chargedAccount(log.store, downloads);
  await race(random, account);
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
  const waivers = usage.flatMap((parsed) =>
    parsed.event.type === 'ChargeWaived' ? [{ ...parsed, data: parsed.event.data }] : [],
  );
  for (const token of new Set(waivers.map(({ data }) => data.token))) {
    const ofCharge = waivers.filter(({ data }) => data.token === token);
    expect(sum(ofCharge.map(({ data }) => data.cents))).toBeLessThanOrEqual(25);
    expect(new Set(ofCharge.map(({ data }) => data.reference)).size).toBe(ofCharge.length);
  }
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
    const given = waivers.filter((waiver) => permission !== undefined && waiver.metadata.$causationId === permission);
    for (const waiver of given) {
      explained.add(waiver.id);
      expect(waiver.metadata.actor).toEqual(asker);
    }
    const givenCents = sum(given.map(({ data }) => data.cents));
    expect(givenCents).toBeLessThanOrEqual(cents);
    // Permitted, it has ended; what it gave back is what its end says.
    if (permission !== undefined) expect(['CorrectionMade', 'CorrectionFailed']).toContain(ended?.event.type);
    expect(givenCents).toBe(ended?.event.type === 'CorrectionMade' ? ended.event.data.cents : 0);
    const isDone = ended?.event.type === 'CorrectionMade';
    const person = personOf(asker.id);
    if (isDone && !needs_approval) free.set(person, (free.get(person) ?? 0) + cents);
  }
  for (const cents of free.values()) expect(cents).toBeLessThanOrEqual(limitCents);
  const atCommandLine = waivers.filter(({ id }) => !explained.has(id));
  expect(atCommandLine.every(({ metadata }) => metadata.actor.type !== 'staff')).toBe(true);
  expect(free.has(team.sue)).toBe(false);
  return requests.map(({ event }) => event.type);
}
