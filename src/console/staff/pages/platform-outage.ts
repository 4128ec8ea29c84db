import { hash } from 'node:crypto';
import { z } from 'zod';
import { listPlatformOutage, type PlatformOutagePeriod } from '../../../../projections/queries/platform-outage.ts';
import { askCorrection } from '../../../commands/correct.ts';
import { chargesByCorrection } from '../../../commands/give-back.ts';
import { correctionIdOf } from '../../../commands/ids/reference-ids.ts';
import { type Html, html, numberCell } from '../../../documents/html.ts';
import { failureReasonNames } from '../../../domain/failure-reasons.ts';
import { platformNames } from '../../../domain/platforms/platforms.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { isServiceAway } from '../../failures.ts';
import { choiceField, postForm, refusalNote } from '../../form-fields.ts';
import { amountCell, count, countCell, empty, money, note, noteAnchor } from '../../parts.ts';
import { summedTable } from '../../summed-table.ts';
import { type Answer, badInput, page, type StaffVisit } from '../../visit.ts';
import { accountLink, correctionPath } from '../addresses.ts';
import { carryOut, deedOf, readReference, refusalText, whoDecides, whyFields } from '../ask-correction.ts';
import type { NamedRow } from '../customers.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf } from '../staff-request.ts';
import { seeAs, type View } from '../view.ts';
import { correctionTag } from './corrections.ts';

/** Gives back what an outage has failed and charged: shown first, then asked once for each account and period. */

/** As a field for a time sends it, in UTC: `2026-11-24T10:30`. */
const minute = z
  .string()
  .regex(/^2\d{3}-\d\d-\d\dT\d\d:\d\d$/, 'is no time such as 2026-11-24T10:30')
  .transform((text) => `${text}:00.000Z`)
  .pipe(z.iso.datetime('is no time such as 2026-11-24T10:30'));

const input = z.object({
  platform: z.string().min(1, 'must be chosen').max(40),
  failure: z.preprocess(
    (text) => (text === '' ? undefined : text),
    z.enum(failureReasonNames, 'is no reason of a failure').optional(),
  ),
  from: minute,
  to: minute,
});

const maxDays = 31;
const maxCharges = 10_000;

/** What an outage has failed and charged, by account and period: one statement, and nothing is changed. */
const platformOutage: View<z.infer<typeof input>, PlatformOutagePeriod[]> = {
  input,
  read: async ({ pool, now }, { platform, failure: reason, from, to }) => {
    if (from >= to) throw badInput('The outage ends before it begins. Choose an end that is later than its beginning.');
    // What is still to fail would make the same form mean something else later.
    if (to > now()) throw badInput('The end is still to come. Choose a time in the past, in UTC.');
    if (Date.parse(to) - Date.parse(from) > maxDays * 86_400_000)
      throw badInput(`An outage has at most ${String(maxDays)} days. Choose a shorter time, and then the next.`);
    const { periods, isMore } = await listPlatformOutage(pool, { platform, reason, from, to }, { maxCharges });
    if (isMore)
      throw badInput('More than 10,000 charges have failed in this time. Choose a shorter one, and then the next.');
    return periods;
  },
  named: (periods) => periods,
};

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { refused, request } = visit;
  if (refused && request.method === 'GET')
    return shownPage(visit.query, dependencies, html`${refusalNote(visit, refused.action)}`);
  const given = refused ? visit.form : visit.query;
  if (!given.has('from')) {
    const nothing = html`<p class="soft">Nothing is changed before you have seen what it would give back.</p>`;
    return shownPage(given, dependencies, nothing);
  }
  const periods = await seeAs(visit, platformOutage, dependencies, Object.fromEntries(given));
  return shownPage(given, dependencies, previewOf(periods, given, visit, dependencies));
}

const title = 'Give back the charges of an outage';

const shownPage = (given: URLSearchParams, dependencies: StaffDependencies, preview: Html, status?: number): Answer =>
  page(
    {
      title,
      section: 'corrections',
      content: html`<p>
          All charges beyond the plan of downloads that failed on one platform, in a time that is over. Credits of a
          plan cannot be given back in money.
        </p>
        ${choice(given, dependencies)} ${preview}`,
    },
    status,
  );

const fields = ['platform', 'failure', 'from', 'to'] as const;

function choice(query: URLSearchParams, { samplePlatformOrigin }: StaffDependencies): Html {
  const names = platformNames({ samplePlatformOrigin }).sort();
  const reasons = failureReasonNames.filter((name) => name !== 'voided');
  return html`<form method="get" action="/staff/corrections/outage#${noteAnchor}" class="filters">
    ${choiceField('Platform', 'platform', query.get('platform'), names)}
    ${choiceField('Reason of the failure', 'failure', query.get('failure'), [['', 'any'], ...reasons])}
    <label>From (UTC) <input type="datetime-local" name="from" value="${query.get('from') ?? ''}" required /></label>
    <label>Until (UTC) <input type="datetime-local" name="to" value="${query.get('to') ?? ''}" required /></label>
    <button class="second">Show what it would give back</button>
  </form>`;
}

const sumOf = (periods: readonly PlatformOutagePeriod[]) => periods.reduce((sum, { cents }) => sum + cents, 0);

/** @param given the fields of the form */
function previewOf(
  periods: readonly PlatformOutagePeriod[],
  given: URLSearchParams,
  visit: StaffVisit,
  { approvalCents }: StaffDependencies,
): Html {
  if (periods.length === 0) return empty(html`<p>No download that was charged beyond the plan has failed so.</p>`);
  const closed = periods.filter(({ is_closed: isClosed }) => isClosed).length;
  const charges = periods.reduce((sum, { left }) => sum + left, 0);
  return html`<h2>What it would give back</h2>
    <p class="lead">
      <strong>${money(sumOf(periods))}</strong> for ${count(charges)} ${charges === 1 ? 'charge' : 'charges'} in
      ${count(periods.length)} ${periods.length === 1 ? 'period' : 'periods'}.
    </p>
    ${
      closed > 0 &&
      note(
        'info',
        `The books of ${count(closed)} ${closed === 1 ? 'period are' : 'periods are'} closed: credit notes give their charges back.`,
      )
    }
    ${summedTable(
      { name: 'Accounts and periods' },
      periods,
      {
        Account: (row) => accountLink(row, { isRow: true }),
        'Usage stream': ({ stream }) => html`<code>${stream}</code>`,
        'Failed charges': countCell((row) => row.charges.length),
        'Still charged': countCell(({ left }) => left),
        Sum: amountCell(({ cents }) => cents),
        Books: (row) => (row.is_closed ? 'closed' : 'open'),
      },
      { sums: { 'Still charged': count(charges) } },
    )}
    ${
      charges > 0 &&
      html`${formAgain(visit, given, periods, `${deedOf(visit, 'give back')} ${money(sumOf(periods))}`)}
        <p class="soft">${whoDecides(visit, approvalCents)} The same reference gives nothing back twice.</p>`
    }`;
}

/** The form that asks for what was shown. */
const formAgain = (
  visit: StaffVisit,
  given: URLSearchParams,
  periods: readonly PlatformOutagePeriod[],
  button: string,
): Html =>
  postForm(
    visit,
    '/staff/corrections/outage',
    () =>
      html`${fields.map((name) => html`<input type="hidden" name="${name}" value="${given.get(name) ?? ''}" />`)}
        <input type="hidden" name="shown" value="${nameOf(periods)}" />
        ${whyFields((field) => given.get(field) ?? '')}
        <button>${button}</button>`,
  );

/**
 * Names what was shown: the charges. A failure that the read model learns of later must not make the same form mean something else. What is given back of them meanwhile changes nothing: it is not given back again.
 */
const nameOf = (periods: readonly PlatformOutagePeriod[]): string =>
  hash(
    'sha256',
    JSON.stringify(
      periods
        .map(({ stream, charges }) => [stream, ...charges.map(({ token }) => token)])
        .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
    ),
    'base64url',
  );

type Asked = Awaited<ReturnType<typeof askOne>>;

/** A browser waits for so long; what is left then is asked by the same form, sent again. */
const budgetMs = 20_000;

export async function ask(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { form } = visit;
  const reference = readReference(form);
  // Without a reason nothing is asked.
  orderOf(visit);
  const given = Object.fromEntries(fields.map((name) => [name, form.get(name) ?? '']));
  const periods = await seeAs(visit, platformOutage, dependencies, given);
  if (form.get('shown') !== nameOf(periods)) {
    const told = note('warn', 'It has changed since it was shown. Nothing was given back: look at it again.');
    return shownPage(form, dependencies, html`${told} ${previewOf(periods, form, visit, dependencies)}`, 409);
  }
  const { done, left } = await askAll(visit, dependencies, { periods, reference });
  return page({
    title,
    section: 'corrections',
    content: html`${outcome(done, left)}
      ${summedTable(
        { name: 'Corrections' },
        done,
        {
          Account: (each) => accountLink(each),
          Correction: ({ correctionId: id }) => html`<a data-row href="${correctionPath(id)}"><code>${id}</code></a>`,
          Charges: countCell(({ charges }) => charges),
          Amount: numberCell(({ cents }) => (cents === null ? '' : money(cents))),
          State: ({ said }) => said,
        },
        { isWhole: left === 0, sums: { Amount: money(done.reduce((sum, { cents }) => sum + (cents ?? 0), 0)) } },
      )}
      ${left > 0 && formAgain(visit, form, periods, `Go on with the other ${count(left)}`)}
      <p>
        <a href="/staff/corrections?reference=${encodeURIComponent(reference)}">All corrections under ${reference}</a>
      </p>`,
  });
}

/** One after the other, as far as the time goes and the service answers: the same form, sent again, goes on with the rest. */
async function askAll(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  { periods, reference }: { periods: readonly PlatformOutagePeriod[]; reference: string },
): Promise<{ done: Asked[]; left: number }> {
  const corrections = periods.flatMap(correctionsOf);
  const deadlineMs = performance.now() + budgetMs;
  const done: Asked[] = [];
  for (const correction of corrections) {
    if (performance.now() > deadlineMs) break;
    try {
      done.push(await askOne(visit, dependencies, { ...correction, reference }));
    } catch (error) {
      // Before anything is asked, the usual page says so; afterwards it would not be true that nothing was changed.
      if (done.length === 0 || !isServiceAway(error)) throw error;
      break;
    }
  }
  return { done, left: corrections.length - done.length };
}

/** The charges of a period never change their order, so that the same form asks for the same corrections. */
const correctionsOf = ({
  account_id: accountId,
  customer = null,
  stream,
  charges: all,
}: PlatformOutagePeriod & NamedRow) =>
  chargesByCorrection(all).map((charges) => ({
    accountId,
    customer,
    correction: { kind: 'charges' as const, stream, charges },
  }));

async function askOne(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  { customer, ...order }: ReturnType<typeof correctionsOf>[number] & { reference: string },
) {
  const { accountId, correction } = order;
  const correctionId = correctionIdOf(order);
  const about = { account_id: accountId, customer, charges: correction.charges.length, correctionId };
  const asked = await askCorrection(dependencies, {
    ...order,
    ...orderOf(visit),
    correctionId,
    limitCents: dependencies.approvalCents,
  });
  if (isRefused(asked)) return { ...about, cents: null, said: html`${refusalText(asked.refusal)}` };
  const ended = (await carryOut(dependencies, { accountId, correctionId })) ?? asked;
  return { ...about, cents: ended.madeCents ?? ended.cents, said: correctionTag(ended.status) };
}

function outcome(done: readonly Asked[], left: number): Html {
  const all = done.reduce((sum, { cents }) => sum + (cents ?? 0), 0);
  if (left > 0)
    return note('warn', `${count(done.length)} corrections are asked so far, and ${count(left)} are not. Go on below.`);
  if (done.length === 0) return note('info', 'Nothing is left to give back.');
  return note('info', `${count(done.length)} ${done.length === 1 ? 'correction' : 'corrections'} over ${money(all)}.`);
}
