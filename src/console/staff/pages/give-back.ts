import { type Html, html } from '../../../documents/html.ts';
import { periodOfUsageStream } from '../../../domain/billing-period.ts';
import type { WantedCorrection } from '../../../domain/correction-events.ts';
import { amountCell, count, facts, money, note, timeToTheSecond } from '../../parts.ts';
import { summedTable } from '../../summed-table.ts';
import { type Answer, page, PageRefusal, type StaffVisit } from '../../visit.ts';
import { accountLink, chargesPath, downloadPath, eventPath } from '../addresses.ts';
import { askAndShow, correctionForm, pageRefusalFor } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs, viewPage } from '../view.ts';
import { type ChargeLeft, chargeOfDownload, type ChargesLeft, tickedCharges } from '../views/charges-left.ts';
import { chargeTag, downloadCell } from './charges.ts';
import { waitingNote } from './corrections.ts';

/** Gives back charges of one period: the one of a download, or those that were ticked in the list of the period. */

const title = 'Give back';

export const showOfDownload = viewPage(chargeOfDownload, {
  title,
  content: (shown, visit, dependencies) =>
    content(shown, visit, dependencies, { action: `${downloadPath(shown.token)}/correct` }),
});

export async function askOfDownload(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  return await ask(await seeAs(visit, chargeOfDownload, dependencies), visit, dependencies);
}

export async function showTicked(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const shown = await seeTicked(visit, dependencies, visit.refused ? visit.form : visit.query);
  const action = `${chargesPath({ account_id: shown.account_id, period_start: visit.params['day'] ?? '' })}/give-back`;
  // The form goes where the boxes were, whose charges the address does not say.
  const about = html`${shown.charges.map(({ row }) => html`<input type="hidden" name="charge" value="${row.revision}" />`)}`;
  return page({ title, section: 'overage', content: content(shown, visit, dependencies, { action, about }) });
}

export async function askTicked(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  return await ask(await seeTicked(visit, dependencies, visit.form), visit, dependencies);
}

/** @param given where the boxes are: the address, or the form that it has led to */
const seeTicked = (visit: StaffVisit, dependencies: StaffDependencies, given: URLSearchParams) =>
  seeAs(visit, tickedCharges, dependencies, { ...visit.params, charge: given.getAll('charge') });

function ask(
  { account_id: accountId, stream, charges, ...shown }: ChargesLeft,
  visit: StaffVisit,
  dependencies: StaffDependencies,
): Promise<Answer> {
  const left = charges.filter(({ left_cents: cents }) => cents > 0);
  const correctionOf = (cents: number): WantedCorrection => {
    if (shown.way === 'not_invoiced') throw pageRefusalFor('invoice_not_found');
    if (left.length === 0) throw pageRefusalFor('nothing_to_give_back');
    if (charges.length > 1 && cents !== sumOf(charges)) throw changedMeanwhile();
    return {
      kind: 'charges',
      stream,
      charges: left.map(({ row, left_cents: leftCents }) => ({
        token: row.token,
        revision: row.revision,
        cents: charges.length > 1 ? leftCents : cents,
      })),
    };
  };
  return askAndShow(visit, dependencies, { accountId, correctionOf });
}

const changedMeanwhile = () =>
  new PageRefusal(
    409,
    'It has changed since it was shown',
    'Something was given back of these charges meanwhile. Nothing was changed now: open the form again to see what is left.',
  );

const sumOf = (charges: readonly ChargeLeft[]): number =>
  charges.reduce((sum, { left_cents: cents }) => sum + cents, 0);

const wayTexts: Readonly<Record<ChargesLeft['way'], string>> = {
  none: 'This download took a credit of the plan. Nothing can be given back in money.',
  not_invoiced:
    'The books of the period are closed, and its invoice is not issued yet. Come back in a minute to credit the invoice.',
  waiver: 'The books of the period are open: it is waived, and never stands on an invoice.',
  credit_note: 'The books of the period are closed: a credit note gives it back, and names each of these charges.',
};

function content(
  shown: ChargesLeft,
  visit: StaffVisit,
  dependencies: StaffDependencies,
  { action, about }: { action: string; about?: Html },
): Html {
  const { account_id: accountId, stream, charges, way } = shown;
  const left = sumOf(charges);
  const { start } = periodOfUsageStream(stream);
  const isNothingLeft = left === 0 && (way === 'waiver' || way === 'credit_note');
  return html`${facts([
    ['Account', accountLink(shown)],
    [
      'Period',
      html`<a href="${chargesPath({ account_id: accountId, period_start: start })}"><code>${stream}</code></a>`,
    ],
    ['Left', html`<strong>${money(left)}</strong>${charges.length > 1 && ` of ${count(charges.length)} charges`}`],
  ])}
  ${charges.length > 0 && chargeTable(charges)} ${waitingNote(shown.waiting_corrections)}
  ${note('info', isNothingLeft ? 'All of it is given back.' : wayTexts[way])}
  ${left > 0 && correctionForm(visit, dependencies, { action, cents: left, deed: deedFor(charges, left), about })}`;
}

const deedFor = ({ length }: readonly ChargeLeft[], cents: number): string =>
  length > 1 ? `give back ${money(cents)}` : 'give it back';

const chargeTable = (charges: readonly ChargeLeft[]): Html =>
  summedTable({ name: 'Charges' }, charges, {
    Time: ({ row }) => timeToTheSecond(row.time),
    Charged: amountCell(({ row }) => row.cents),
    Left: amountCell(({ left_cents: cents }) => cents),
    Charge: ({ row }) => chargeTag(row),
    Event: ({ row }) => html`<a data-row href="${eventPath(row.event_id)}">its event</a>`,
    Download: ({ row }) => downloadCell(row),
  });
