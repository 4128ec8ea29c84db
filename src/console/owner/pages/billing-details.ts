import { changeBillingDetails } from '../../../commands/accounts.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { AccountRefusal } from '../../../domain/account.ts';
import { type BillingDetails, billingDetails } from '../../../domain/billing-details.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { doneAt, doneNote, postForm } from '../../form-fields.ts';
import { type Answer, badInput, type OwnerVisit, redirect } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { requestOf } from '../owner-request.ts';
import { accountTexts } from '../refusal-texts.ts';

/** Name and address of the account's owner on invoices that are issued from now on. */
export function billingForm(
  visit: OwnerVisit,
  { name, address_lines: lines, country, tax_id: taxId }: BillingDetails,
): Html {
  return html`<h2 id="billing">Billing details</h2>
    ${doneNote(visit, { billing: `The billing details are saved.${country === null ? '' : ` Country: ${countryName(country)}.`}` })}
    <p>
      Invoices show them as they are when an invoice is issued. An invoice that is issued already keeps those of its
      time.
    </p>
    ${postForm(visit, '/console/settings/billing', (typed) => {
      const field = (label: string, key: string, value: string | null, rest: Html) =>
        html`<label>${label} <input name="${key}" value="${typed(key) ?? value ?? ''}" ${rest} /></label>`;
      return html`${field('Name', 'name', name, html`autocomplete="organization"`)}
        <label
          >Address
          <textarea name="address" rows="4" autocomplete="street-address">
${typed('address') ?? lines.join('\n')}</textarea>
        </label>
        ${field('Country, by its two letters', 'country', country, html`pattern="[A-Za-z]{2}" title="two letters such as DE" autocomplete="country"`)}
        ${country !== null && html`<p class="hint">${country} is ${countryName(country)}.</p>`}
        ${field('Tax ID', 'tax_id', taxId, html`autocomplete="off"`)}
        <button>Save the billing details</button>`;
    })}`;
}

const countryNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });

/** Two letters may be those of another country than was meant. @param code two capital letters */
const countryName = (code: string): string => countryNames.of(code) ?? 'no country that is known here';

const labels: Readonly<Record<keyof BillingDetails, string>> = {
  name: 'Name',
  address_lines: 'Address',
  country: 'Country',
  tax_id: 'Tax ID',
};

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
    const said = read.error.issues.map(({ path: [field], message }) =>
      field === 'country' ? 'Country: two letters such as DE.' : `${labels[field as keyof BillingDetails]} ${message}.`,
    );
    throw badInput(`${said.join(' ')} Nothing was saved.`);
  }
  const changed = await changeBillingDetails(accounts, { details: read.data, ...requestOf(visit) });
  if (isRefused(changed)) throw badInput(whyNot[changed.refusal]);
  return redirect(doneAt('/console/settings', 'billing'));
}

const whyNot: Record<AccountRefusal<'change_billing_details'>, string> = {
  ...accountTexts,
  too_many_billing_changes: 'The billing details were changed many times within an hour. Try again later.',
};
