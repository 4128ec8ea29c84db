import { type Html, html } from '../../../documents/html.ts';
import { facts, money, note, time } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, downloadPath, eventPath } from '../addresses.ts';
import { askInConsole, correctionFields, readCorrectionFields } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { charge as chargeView, type ChargeLeft, correctionOf } from '../views/charge.ts';

/** Gives back the charge of one download, or a part of it. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const charge = await see(chargeView, viewerOf(visit), dependencies, inputOf(visit));
  return page({ title: 'Give back', content: content(charge, visit, dependencies) });
}

export async function ask(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const fields = readCorrectionFields(visit);
  const charge = await see(chargeView, viewerOf(visit), dependencies, inputOf(visit));
  const { account_id: accountId } = charge;
  return await askInConsole(visit, dependencies, { accountId, fields, correction: correctionOf(charge) });
}

function content(charge: ChargeLeft, visit: StaffVisit, { newUuid, approvalCents }: StaffDependencies): Html {
  const { token, account_id: accountId, charge_event_id: eventId, left_cents: left, charged_cents: charged } = charge;
  const givenBack = charged - left;
  return html`${facts([
    [
      'Download',
      html`<a href="${downloadPath(token)}"><code>${token}</code></a
        >, ${charge.platform}, queued ${time(charge.queued_at)}`,
    ],
    ['Account', accountLink(accountId)],
    [
      'Charged',
      html`${charged > 0 ? money(charged) : 'a credit of the plan'}${
        eventId !== null && html`, event <a href="${eventPath(eventId)}"><code>${eventId}</code></a>`
      }`,
    ],
    givenBack > 0 && ['Given back so far', money(givenBack)],
    ['Left', html`<strong>${money(left)}</strong>`],
  ])}
  ${how(charge)}
  ${
    charge.by !== null &&
    html`<form method="post" action="/staff/downloads/${token}/correct" class="stack">
        ${correctionFields(visit, { id: newUuid(), cents: left })}
        <button>${visit.session.role === 'support' ? 'Ask to give it back' : 'Give it back'}</button>
      </form>
      <p class="soft">${whoDecides(visit, approvalCents)}</p>`
  }`;
}

/** Who has to agree. */
export const whoDecides = ({ session }: StaffVisit, limitCents: number): string =>
  session.role === 'support'
    ? 'Somebody of finance approves it before anything is given back.'
    : `Above ${money(limitCents)} that you give back to one account within 24 hours, somebody else of finance approves it first.`;

const whyNot: Readonly<Record<NonNullable<ChargeLeft['why_not']>, string>> = {
  credit: 'This download took a credit of the plan. Nothing can be given back in money.',
  voided: 'The charge was voided: all of it is given back.',
  given_back: 'All of it is given back.',
  not_invoiced:
    'The books of the period are closed, and its invoice is not issued yet. Come back in a minute to credit the invoice.',
};

function how({ by, why_not: why, invoice_number: number, line, account_id: accountId }: ChargeLeft): Html {
  if (why !== null) return note('info', whyNot[why]);
  if (by === 'waiver')
    return note('info', 'The books of its period are open: it is waived, and never stands on an invoice.');
  return note(
    'info',
    html`The books of its period are closed: a credit note gives it back, of line ${line ?? ''} of
      <a href="/staff/accounts/${accountId}/invoices/${number ?? ''}">invoice ${number ?? ''}</a>.`,
  );
}
