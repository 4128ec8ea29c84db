import { type Html, html } from '../../../documents/html.ts';
import { facts, money, note } from '../../parts.ts';
import { type Answer, page, type StaffVisit } from '../../visit.ts';
import { accountLink, invoicePath } from '../addresses.ts';
import { askInConsole, correctionFields, readCorrectionFields } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { inputOf, see, viewerOf } from '../view.ts';
import { invoiceLine, type LineLeft } from '../views/invoice.ts';
import { whoDecides } from './give-back.ts';

/** Credits a line of an invoice, or a part of it. */

export async function show(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const shown = await see(invoiceLine, viewerOf(visit), dependencies, inputOf(visit));
  return page({ title: 'Credit a line', section: 'search', content: content(shown, visit, dependencies) });
}

export async function ask(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const fields = readCorrectionFields(visit);
  const shown = await see(invoiceLine, viewerOf(visit), dependencies, inputOf(visit));
  const { account_id: accountId, invoice, line } = shown;
  const correction = {
    kind: 'credit_line',
    invoice_number: invoice.number,
    line: line.line,
    charge_event_id: null,
  } as const;
  return await askInConsole(visit, dependencies, {
    accountId,
    fields,
    correction: line.left_cents > 0 ? correction : undefined,
  });
}

function content({ invoice, line }: LineLeft, visit: StaffVisit, { newUuid, approvalCents }: StaffDependencies): Html {
  const { account_id: accountId, number } = invoice;
  const path = invoicePath(accountId, number);
  return html`${facts([
    ['Line', html`${line.line} of <a href="${path}">invoice ${number}</a>: ${line.description}`],
    ['Account', accountLink(accountId)],
    ['Amount', money(line.cents)],
    ['Left', html`<strong>${money(line.left_cents)}</strong>`],
  ])}
  ${
    line.left_cents === 0
      ? note('info', 'Nothing of this line can be credited any more.')
      : html`<p>
            A credit note gives it back. Is it about one download? Then credit its charge, on the page of the download:
            the credit note names it.
          </p>
          <form method="post" action="${path}/lines/${line.line}/credit" class="stack">
            ${correctionFields(visit, { id: newUuid(), cents: line.left_cents })}
            <button>${visit.session.role === 'support' ? 'Ask to credit it' : 'Credit it'}</button>
          </form>
          <p class="soft">${whoDecides(visit, approvalCents)}</p>`
  }`;
}
