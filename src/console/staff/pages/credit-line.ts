import { type Html, html } from '../../../documents/html.ts';
import { facts, money, note } from '../../parts.ts';
import type { Answer, StaffVisit } from '../../visit.ts';
import { accountLink, invoicePath } from '../addresses.ts';
import { askAndShow, correctionForm } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs, viewPage } from '../view.ts';
import { invoiceLine, type LineLeft } from '../views/invoice.ts';

/** Credits a line of an invoice, or a part of it. */

export const show = viewPage(invoiceLine, { title: 'Credit a line', section: 'search', content });

export async function ask(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { account_id: accountId, invoice, line } = await seeAs(visit, invoiceLine, dependencies);
  return await askAndShow(visit, dependencies, {
    accountId,
    correctionOf: (cents) => ({ kind: 'credit_line', invoice_number: invoice.number, line: line.line, cents }),
  });
}

function content(shown: LineLeft, visit: StaffVisit, dependencies: StaffDependencies): Html {
  const { invoice, line } = shown;
  const { account_id: accountId, number } = invoice;
  const path = invoicePath(accountId, number);
  const action = `${path}/lines/${String(line.line)}/credit`;
  return html`${facts([
    ['Line', html`${line.line} of <a href="${path}">invoice ${number}</a>: ${line.description}`],
    ['Account', accountLink(shown)],
    ['Amount', money(line.cents)],
    ['Left', html`<strong>${money(line.left_cents)}</strong>`],
  ])}
  ${
    line.left_cents === 0
      ? note('info', 'Nothing of this line can be credited any more.')
      : html`<p>
            A credit note gives it back, and names no download. Is it about downloads? Then tick their charges in the
            list of the period: the credit note names them.
          </p>
          ${correctionForm(visit, dependencies, { action, cents: line.left_cents, deed: 'credit it' })}`
  }`;
}
