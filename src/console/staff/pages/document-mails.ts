import { askDocumentMails } from '../../../commands/ask-document-mails.ts';
import { mailsCommandIdOf } from '../../../commands/ids/reference-ids.ts';
import type { MailOfDocument, MailsOfDocument } from '../../../commands/mails-of-document.ts';
import { type Html, html } from '../../../documents/html.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { doneAt, doneNote, foldedForm, formKeyField, formKeyOf } from '../../form-fields.ts';
import { actorText, listTable, rowName, tag, time } from '../../parts.ts';
import { type Answer, badInput, redirect, type StaffVisit } from '../../visit.ts';
import { creditNotePath, invoicePath } from '../addresses.ts';
import { pageRefusalFor } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf, reasonField } from '../staff-request.ts';
import { seeAs, type View } from '../view.ts';
import { creditNote, invoice } from '../views/invoice.ts';

/** To whom an invoice or a credit note was mailed, and the form that mails it again. */

interface MailedDocument {
  type: 'invoice' | 'credit_note';
  account_id: string;
  number: number;
  mails: MailsOfDocument;
}

const pathOf = ({ type, account_id: accountId, number }: MailedDocument): string =>
  (type === 'invoice' ? invoicePath : creditNotePath)(accountId, number);

export function mailsSection(document: MailedDocument, visit: StaffVisit, { newUuid }: StaffDependencies): Html {
  const { mails } = document.mails;
  const none = html`<p class="soft">It was mailed to nobody.</p>`;
  return html`<h2 id="mails">Mails</h2>
    ${doneNote(visit, { mails: 'It is asked for. The mail server is given it within moments: reload the page to see that it was taken.' })}
    ${listTable({ name: 'Mails about it, the newest first', none }, mails, {
      To: rowName(({ email, removed }) => html`${email ?? '(erased)'} ${removed && tag('removed')}`),
      Why: askedText,
      State: stateText,
    })}
    ${mailForm(document, visit, newUuid)}`;
}

const askedText = ({ asked_at: at, asked_by: by }: MailOfDocument): Html | string =>
  at === null || by === null
    ? 'issued'
    : html`asked for again ${time(at)} by ${actorText(by)}: <span class="soft">${by.reason}</span>`;

const stateText = ({ state, taken_at: at }: MailOfDocument): Html => {
  if (at !== null) return html`${tag('taken', 'good')} by the mail server, ${time(at)}`;
  return state === 'waits'
    ? html`${tag('waits', 'warn')} for the mail server`
    : html`${tag('not sent')} the person was removed before`;
};

function mailForm(document: MailedDocument, visit: StaffVisit, newUuid: StaffDependencies['newUuid']): Html {
  const { people } = document.mails;
  return foldedForm(visit, `${pathOf(document)}/mails`, {
    name: 'Send it again',
    content: (typed) => {
      const chosen = typed('to') === undefined ? [] : visit.form.getAll('to');
      return html`${formKeyField(typed('form_key') ?? newUuid())}
        <p>
          Everybody chosen gets a mail of their own. The document stays as it is: no amount changes, and nothing is
          issued anew.
        </p>
        <fieldset>
          <legend>To people of the account</legend>
          ${people.map(
            ({ person_id: id, email, waits }) =>
              html`<label class="inline"
                ><input
                  type="checkbox"
                  name="to"
                  value="${id}"
                  ${chosen.includes(id) && html`checked`}
                  ${waits && html`disabled`}
                />
                ${email} ${waits && html`<span class="soft">(a mail waits already)</span>`}</label
              >`,
          )}
        </fieldset>
        ${reasonField(typed, { hint: 'For staff and the audit; the mail does not say it.' })}
        <button>Send again</button>`;
    },
  });
}

const ask =
  <Input, Shown extends MailedDocument>(view: View<Input, Shown>) =>
  async (visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> => {
    const order = orderOf(visit);
    const mailTo = [...new Set(visit.form.getAll('to'))].toSorted();
    if (mailTo.length === 0) throw badInput('Choose at least one person. Nobody is mailed.');
    const document = await seeAs(visit, view, dependencies);
    const asked = { accountId: document.account_id, documentId: document.mails.document_event_id, mailTo };
    const commandId = mailsCommandIdOf(formKeyOf(visit) ?? dependencies.newUuid(), asked);
    const handled = await askDocumentMails(dependencies, { ...asked, ...order, commandId });
    if (isRefused(handled)) throw pageRefusalFor(handled.refusal);
    return redirect(doneAt(pathOf(document), 'mails'));
  };

export const askOfInvoice = ask(invoice);
export const askOfCreditNote = ask(creditNote);
