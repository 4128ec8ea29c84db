import { expect, it } from 'vitest';
import { apiKeys } from '../../projections/api-keys.ts';
import { readBooks } from '../../projections/queries/books.ts';
import { readWhatWaits } from '../../projections/queries/what-waits.ts';
import { countDue, listPeriodsInGrace } from '../../projections/work-lists/due-periods.ts';
import { openAccount, readAccount } from '../../src/commands/accounts.ts';
import { changeCharge } from '../../src/commands/change-charge.ts';
import { changeTerms } from '../../src/commands/change-terms.ts';
import { closeAccount } from '../../src/commands/close-account.ts';
import { ownCause } from '../../src/commands/handler/event-metadata.ts';
import { usageOrigin } from '../../src/commands/usage/usage-cache.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { downloadOf, freshToken, writersOf } from '../commands/usage-account.ts';
import { plan } from '../domain/usage-examples.ts';
import { patienceMs } from '../support/wait-for.ts';
import { closingUnderTest, invoicesOf, roundAt } from './closing.ts';

const parts = closingUnderTest(apiKeys);
const openedAt = '2026-11-01T08:00:00.000Z';
const closedAt = '2026-11-10T08:00:00.000Z';
const finance = { type: 'staff', id: 'maria', role: 'operator', reason: 'the owner asked' } as const;
const request = { correlationId: newUuid(), actor: finance, timeoutMs: 10_000 };

async function openAt() {
  const dependencies = { store: parts.store, now: () => openedAt, newUuid, newId, randomBits };
  const opened = await openAccount(dependencies, {
    email: 'owner@example.com',
    terms: plan,
    reference: undefined,
    ...request,
  });
  if (isRefused(opened)) throw new Error(opened.refusal);
  const stream = usageStream(opened.accountId, { start: '2026-11-01' });
  return { accountId: opened.accountId, stream, snapshot: usageOrigin(stream) };
}

const typesIn = async (stream: string) => (await parts.store.read(stream, 0)).map(({ type }) => type);

it('closes an account whose closing was interrupted, and its last period once the grace is over', async () => {
  const { accountId, stream, snapshot } = await openAt();
  const cause = ownCause(newUuid(), finance);
  const change = { kind: 'close_account' } as const;
  await changeTerms(
    writersOf(parts.store, () => closedAt),
    { accountId, change, snapshot, cause, timeoutMs: 10_000 },
  );
  expect((await readAccount(parts.store, accountId)).closed).toBe(false);

  await roundAt(parts, { now: '2026-11-10T08:30:00.000Z' });
  expect((await readAccount(parts.store, accountId)).closed).toBe(true);
  expect(await typesIn(stream)).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded']);
  await roundAt(parts, { now: '2026-11-10T09:00:00.000Z' });
  await roundAt(parts, { now: '2027-01-10T09:00:00.000Z' });
  expect(await typesIn(stream)).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded', 'UsagePeriodClosed']);
  expect(await typesIn(`account-${accountId}`)).toEqual(['AccountOpened', 'AccountClosed']);
  // Nothing was used, and no next fee is due: the first fee stands alone.
  expect((await invoicesOf(parts, { accountId })).map(({ event }) => event.type)).toEqual(['InvoiceIssued']);
});

it('ends a period whose time is over as the last one, and owes no fee of another', async () => {
  const { accountId, stream, snapshot } = await openAt();
  const overdue = '2026-12-03T08:00:00.000Z';
  const at = { store: parts.store, now: () => overdue, newUuid, newId, randomBits };
  const writers = writersOf(parts.store, () => overdue);
  expect(await closeAccount({ ...at, writers }, { accountId, snapshot, ...request })).toMatchObject({
    events: [{ type: 'UsagePeriodEnded', data: { next: null } }],
  });
  await roundAt(parts, { now: '2027-01-10T09:00:00.000Z' });
  expect(await typesIn(stream)).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded', 'UsagePeriodClosed']);
  expect(await typesIn(usageStream(accountId, { start: '2026-12-01' }))).toEqual([]);
  expect(await invoicesOf(parts, { accountId })).toHaveLength(1);
});

it('counts as not closed from the end of its last period on, while a step of its closing is open', async () => {
  const { accountId, stream, snapshot } = await openAt();
  const writers = writersOf(parts.store, () => closedAt);
  const request = { cause: ownCause(newUuid(), finance), deadlineMs: performance.now() + patienceMs };
  const token = freshToken();
  await writers.ask(accountId, { ...request, command: downloadOf(token), snapshot });
  await writers.ask(accountId, { ...request, command: { kind: 'close_account' }, snapshot });
  await changeCharge(
    { store: parts.store, now: () => '2026-11-10T08:40:00.000Z' },
    { stream, command: { kind: 'void_download', token }, cause: request.cause, timeoutMs: patienceMs },
  );
  await parts.models.caughtUp();

  const { pool } = parts.models;
  const overdueAt = async (endedBefore: string) => {
    const { unclosed } = await readBooks(pool, { endedBefore, limit: 100 });
    const { periods } = await readWhatWaits(pool, { endedBefore, limit: 100 });
    return [unclosed, periods].map((rows) => rows.filter((row) => row.stream === stream).map((row) => row.ended_at));
  };
  expect(await overdueAt('2026-11-10T07:59:59.999Z')).toEqual([[], []]);
  expect(await overdueAt(closedAt)).toEqual([[closedAt], [closedAt]]);
  expect((await countDue(pool, '2026-11-10T08:41:00.000Z')).notClosed).toBe(1);
  // A void meanwhile does not begin the grace anew.
  const inGrace = await listPeriodsInGrace(pool, { now: '2026-11-10T08:41:00.000Z', graceSeconds: 3_600 });
  expect(inGrace).toEqual([{ stream, until: '2026-11-10T09:00:00.000Z' }]);

  // The books wait for the second step, so that one list has all that is open.
  const { closed } = await roundAt(parts, { now: '2026-11-10T10:00:00.000Z' });
  expect(closed).toEqual([]);
  expect((await roundAt(parts, { now: '2026-11-10T10:00:00.000Z' })).closed).toEqual([stream]);
  await parts.models.caughtUp();
  expect(await overdueAt('2026-11-11T00:00:00.000Z')).toEqual([[], []]);
});

it('is done in both streams by the command, whoever repeats it', async () => {
  const { accountId, stream, snapshot } = await openAt();
  const at = { store: parts.store, now: () => closedAt, newUuid, newId, randomBits };
  const close = () =>
    closeAccount({ ...at, writers: writersOf(parts.store, () => closedAt) }, { accountId, snapshot, ...request });
  await Promise.all([close(), close()]);
  expect(await close()).toMatchObject({ outcome: 'accepted', events: [] });
  expect(await typesIn(stream)).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded']);
  expect(await typesIn(`account-${accountId}`)).toEqual(['AccountOpened', 'AccountClosed']);
});
