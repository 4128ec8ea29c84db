import { changeBillingDetails } from '../../../commands/accounts.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { AccountRefusal } from '../../../domain/account.ts';
import { type BillingDetails, billingDetails } from '../../../domain/billing-details.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { formTokenField } from '../../form-fields.ts';
import { type Answer, badInput, type OwnerVisit, redirect } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { requestOf } from '../owner-request.ts';
import { accountTexts } from '../refusal-texts.ts';

/** Name and address of the account's owner on invoices that are issued from now on. */
export function billingForm(
  { session }: OwnerVisit,
  { name, address_lines: lines, country, tax_id: taxId }: BillingDetails,
): Html {
  const field = (label: string, key: string, value: string | null, rest: Html = html``) =>
    html`<label>${label} <input name="${key}" value="${value ?? ''}" ${rest} /></label>`;
  return html`<h2 id="billing">Billing details</h2>
    <p>
      Invoices show them as they are when an invoice is issued. An invoice that is issued already keeps those of its
      time.
    </p>
    <form method="post" action="/console/settings/billing" class="stack">
      ${formTokenField(session)} ${field('Name', 'name', name, html`maxlength="200" autocomplete="organization"`)}
      <label
        >Address <textarea name="address" rows="4" autocomplete="street-address">${lines.join('\n')}</textarea>
      </label>
      ${field('Country, by its two letters', 'country', country, html`maxlength="2" pattern="[A-Za-z]{2}" autocomplete="country"`)}
      ${field('Tax id', 'tax_id', taxId, html`maxlength="50" autocomplete="off"`)}
      <button>Save the billing details</button>
    </form>`;
}

export async function changeBilling(visit: OwnerVisit, { accounts }: ConsoleDependencies): Promise<Answer> {
  const typed = (key: string) => (visit.form.get(key) ?? '').trim();
  const orNull = (text: string) => (text === '' ? null : text);
  const read = billingDetails.safeParse({
    name: orNull(typed('name')),
    address_lines: typed('address')
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== ''),
    country: orNull(typed('country').toUpperCase()),
    tax_id: orNull(typed('tax_id')),
  });
  if (!read.success) {
    const [issue] = read.error.issues;
    throw badInput(
      `${String(issue?.path[0]).replace('_', ' ')} ${issue?.message ?? 'cannot be used'}. Go back and correct it.`,
    );
  }
  const changed = await changeBillingDetails(accounts, { details: read.data, ...requestOf(visit) });
  if (isRefused(changed)) throw badInput(whyNot[changed.refusal]);
  return redirect('/console/settings?done=billing#billing');
}

const whyNot: Record<AccountRefusal<'change_billing_details'>, string> = {
  ...accountTexts,
  too_many_billing_changes: 'The billing details were changed many times within an hour. Try again later.',
};
