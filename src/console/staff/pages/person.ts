import { changeStaffRole, issueTokenOfForm, removeStaff, revokeStaffToken } from '../../../commands/staff.ts';
import { type Columns, type Html, html } from '../../../documents/html.ts';
import { keyLabel } from '../../../domain/account-events.ts';
import { isRefused, type Refusal } from '../../../domain/refusals.ts';
import { defaultTokenDays, maxStaffTokens, maxTokenDays } from '../../../domain/staff.ts';
import { type StaffScope, staffScope, staffScopes } from '../../../domain/staff-events.ts';
import {
  doneAt,
  doneNote,
  folded,
  foldedForm,
  formKeyField,
  formKeyOf,
  postForm,
  typedInto,
} from '../../form-fields.ts';
import { actionCell, count, facts, listTable, note, rowName, tag, time } from '../../parts.ts';
import { type Answer, badInput, missing, page, PageRefusal, redirect, type StaffVisit } from '../../visit.ts';
import { personPath } from '../addresses.ts';
import { pageRefusalFor } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf } from '../staff-request.ts';
import { seeAs, viewPage } from '../view.ts';
import { type Person, person as personView, type TokenShown } from '../views/people.ts';
import {
  accessRecordsTable,
  lastSignIn,
  mailed,
  readRole,
  roleField,
  roleTag,
  untilStaffInForce,
  whyField,
} from './people.ts';

/** One member of staff: role, tokens for programs, and whose data this person has looked at. */

const done = {
  role: 'The role is changed. It applies from the next page on.',
  invited_again: 'A link is on its way by mail. It signs the person in, once and within a day.',
  removed: 'The person is removed: no session, link or token of theirs is accepted.',
};

export const show = viewPage(personView, {
  title: ({ email, staff_id: id }) => email ?? id,
  section: 'people',
  content: (person, visit, dependencies) =>
    html`${doneNote(visit, done)} ${factsOf(person)} ${changes(person, visit, dependencies)}
      <h2 id="tokens">Tokens for programs</h2>
      ${tokens(person, visit, dependencies)}
      <h2 id="looks">Looked at</h2>
      ${accessRecordsTable(person.access_records)}
      <p><a href="/staff/people/looks?person=${person.staff_id}">All looks of this person</a></p>`,
});

const factsOf = (person: Person): Html =>
  facts([
    ['Member', html`<code>${person.staff_id}</code>, since ${time(person.since)}`],
    [
      'Role',
      html`${roleTag(person)}${person.removed_at !== null && html` ${time(person.removed_at)}, as ${person.role}`}`,
    ],
    ['Signs in', person.invited ? 'by a link' : 'by the OpenID provider, which says the role'],
    ['Last sign-in', lastSignIn(person)],
    ['Corrections', html`<a href="/staff/corrections?by=${person.staff_id}">all that this person has asked for</a>`],
  ]);

function changes(person: Person, visit: StaffVisit, { mailInvitation }: StaffDependencies): Html | false {
  const { staff_id: staffId, role, invited, removed_at: removedAt, signed_in_at: signedInAt } = person;
  if (removedAt !== null) return false;
  if (staffId === visit.session.staffId)
    return html`<p class="soft">This is you: another admin changes your role or removes you.</p>`;
  const path = personPath(staffId);
  return html`${
    invited &&
    signedInAt === null &&
    mailInvitation &&
    postForm(visit, `${path}/invite-again`, () => html`<button class="second">Send the invitation again</button>`)
  }
  ${
    invited &&
    foldedForm(visit, `${path}/role`, {
      name: 'Change the role',
      content: (typed) => html`${roleField(typed('role') ?? role)} ${whyField(typed)} <button>Change the role</button>`,
    })
  }
  ${foldedForm(visit, `${path}/remove`, {
    name: 'Remove',
    content: (typed) =>
      html`<p>Sessions, links and tokens of this person end, for good.</p>
        ${whyField(typed)} <button class="danger">Remove</button>`,
  })}`;
}

function tokens(
  { staff_id: staffId, removed_at: removedAt, issued_tokens: all }: Person,
  visit: StaffVisit,
  { newUuid }: StaffDependencies,
): Html {
  const [held, ended] = [all.filter(({ holds }) => holds), all.filter(({ holds }) => !holds)];
  const revocation = ({ token_id: tokenId, label }: TokenShown) =>
    foldedForm(visit, `${personPath(staffId)}/tokens/${tokenId}/revoke`, {
      name: html`Revoke<span class="visually-hidden"> ${label}</span>`,
      content: (typed) => html`${whyField(typed)} <button class="danger">Revoke the token</button>`,
    });
  const endedTable = () =>
    listTable('Tokens that are no longer valid', ended.slice(0, shownEnded), {
      ...tokenColumns,
      '': ({ revoked }) => revoked && tag('revoked'),
    });
  return html`${doneNote(visit, { revoked: 'The token is revoked, and accepted no more.' })}
  ${listTable({ name: 'Valid tokens', none: html`<p class="soft">No token is valid.</p>` }, held, {
    ...tokenColumns,
    Action: actionCell(revocation),
  })}
  ${removedAt === null && issueForm(visit, newUuid, { staffId, held: held.length })}
  ${ended.length > 0 && folded(`Tokens that are no longer valid (${count(ended.length)})`, endedTable())}`;
}

const shownEnded = 50;

const tokenColumns: Columns<TokenShown> = {
  Label: rowName(({ label }) => (label === '' ? html`<span class="soft">no label</span>` : label)),
  Token: ({ prefix }) => html`<code>${prefix}…</code>`,
  'May read': ({ scopes }) => scopes.join(', '),
  Issued: (token) => time(token.created_at),
  Until: (token) => time(token.expires_at),
};

const scopeTexts: Readonly<Record<StaffScope, string>> = {
  accounts: 'accounts, search and events',
  jobs: 'downloads',
  money: 'overage, months and corrections',
  operation: 'operation',
};

function issueForm(
  visit: StaffVisit,
  newUuid: StaffDependencies['newUuid'],
  { staffId, held }: { staffId: string; held: number },
): Html {
  if (held >= maxStaffTokens)
    return html`<p>All ${count(maxStaffTokens)} tokens that a member may have are in force. Revoke one first.</p>`;
  const action = `${personPath(staffId)}/tokens`;
  const chosen = typedInto(visit, action)('scope') === undefined ? [] : visit.form.getAll('scope');
  return foldedForm(visit, action, {
    name: 'Issue a token',
    content: (typed) =>
      html`${formKeyField(typed('form_key') ?? newUuid())}
        <label
          >Label
          <input
            name="label"
            required
            maxlength="100"
            placeholder="for example: monthly export"
            autocomplete="off"
            value="${typed('label') ?? ''}"
        /></label>
        <fieldset>
          <legend>May read</legend>
          ${staffScopes.map(
            (scope) =>
              html`<label class="inline"
                ><input type="checkbox" name="scope" value="${scope}" ${chosen.includes(scope) && html`checked`} />
                ${scopeTexts[scope]}</label
              >`,
          )}
        </fieldset>
        <label
          >Valid for days
          <input
            type="number"
            name="days"
            value="${typed('days') ?? defaultTokenDays}"
            min="1"
            max="${maxTokenDays}"
            required
        /></label>
        ${whyField(typed)}
        <button>Issue a token</button>`,
  });
}

/** Somebody who is staff. @throws {PageRefusal} for anybody else */
async function findCurrent(visit: StaffVisit, dependencies: StaffDependencies): Promise<Person> {
  const { person: id } = visit.params;
  const person = await seeAs(visit, personView, dependencies, { person: id });
  if (person.removed_at !== null)
    throw badInput(
      'This person was removed already: nothing of theirs can be changed any more. Invite the person anew.',
    );
  return person;
}

async function findOther(visit: StaffVisit, dependencies: StaffDependencies): Promise<Person> {
  const person = await findCurrent(visit, dependencies);
  if (person.staff_id === visit.session.staffId)
    throw badInput('Nobody changes their own role, or removes themselves. Another admin does, or the command line.');
  return person;
}

/** For whom the mail was lost: with another link. */
export async function inviteAgain(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const { staff_id: staffId, email, role, invited, signed_in_at: signedInAt } = await findOther(visit, dependencies);
  if (!invited || email === null || signedInAt !== null)
    throw badInput('This person has signed in, or needs no link. No mail was sent.');
  if (!(await mailed(staffId, { email, role }, dependencies)))
    throw badInput(
      'No mail server has taken the mail. An operator makes a link on the command line (staff link), and hands it to the person.',
    );
  return redirect(doneAt(personPath(staffId), 'invited_again'));
}

export async function changeRole(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const [role, order] = [readRole(visit.form), orderOf(visit)];
  const { staff_id: staffId } = await findOther(visit, dependencies);
  const changed = await changeStaffRole(dependencies, { staffId, role, ...order });
  if (isRefused(changed)) throw whyNot(changed.refusal);
  await untilStaffInForce(dependencies, 'The role is changed, but may not hold yet. Look again in a minute.');
  return redirect(doneAt(personPath(staffId), 'role'));
}

export async function remove(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const order = orderOf(visit);
  const { staff_id: staffId } = await findOther(visit, dependencies);
  const removed = await removeStaff(dependencies, { staffId, ...order });
  if (isRefused(removed)) throw whyNot(removed.refusal);
  await untilStaffInForce(
    dependencies,
    'The person is removed, but pages may still open for a while. Look in a minute.',
  );
  return redirect(doneAt(personPath(staffId), 'removed'));
}

export async function issueToken(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const asked = readToken(visit);
  const order = orderOf(visit);
  const { staff_id: staffId } = await findCurrent(visit, dependencies);
  const formKey = formKeyOf(visit) ?? dependencies.newUuid();
  const issued = await issueTokenOfForm(dependencies, { staffId, formKey, ...asked, ...order });
  if (isRefused(issued)) throw whyNot(issued.refusal);
  if (issued.token === null)
    throw new PageRefusal(
      409,
      'This form has issued its token',
      'The token was shown when the form was sent first, and is stored nowhere. If nobody has copied it, revoke it in the list of tokens, and issue another one.',
    );
  // A token that is shown may be used at once, and must never be answered 401.
  await untilStaffInForce(
    dependencies,
    'A token was issued, but it does not work yet, and is never shown. In a minute it is in the list: revoke it there, and issue another one.',
  );
  return page({
    title: 'The new token',
    section: 'people',
    content: html`${note('good', 'The token works at once. It is shown this once and stored nowhere: copy it now.')}
      <pre><code id="new-token">${issued.token}</code></pre>
      <p>It reads ${issued.scopes.map((scope) => scopeTexts[scope]).join('; ')}, until ${time(issued.expiresAt)}.</p>
      <p>
        Programs send it as <code>Authorization: Bearer …</code> to <code>${dependencies.origins.own}/staff/v1</code>:
        <a href="/staff/docs">what they may ask</a>. What they look at is recorded as this person's looks.
      </p>
      <p class="pages"><a class="button second" href="${personPath(staffId)}#tokens">I have copied it</a></p>`,
  });
}

/** @throws {PageRefusal} naming the field at fault */
function readToken({ form }: StaffVisit): { label: string; scopes: StaffScope[]; lifetimeDays: number } {
  const label = keyLabel.min(1, 'must not be empty').safeParse((form.get('label') ?? '').trim());
  if (!label.success) throw badInput(`The label ${label.error.issues[0]?.message ?? 'cannot be used'}.`);
  const scopes = staffScope
    .array()
    .min(1)
    .safeParse([...new Set(form.getAll('scope'))]);
  if (!scopes.success) throw badInput('Choose what the token may read. No token was issued.');
  const days = form.get('days') ?? '';
  const lifetimeDays = /^\d{1,3}$/.test(days) ? Number(days) : 0;
  if (lifetimeDays < 1 || lifetimeDays > maxTokenDays)
    throw badInput(`A token is valid for 1 to ${count(maxTokenDays)} days.`);
  return { label: label.data, scopes: scopes.data, lifetimeDays };
}

export async function revokeToken(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const order = orderOf(visit);
  const { staff_id: staffId } = await findCurrent(visit, dependencies);
  const tokenId = visit.params['token'] ?? '';
  const revoked = await revokeStaffToken(dependencies, { staffId, tokenId, ...order });
  if (isRefused(revoked)) throw whyNot(revoked.refusal);
  await untilStaffInForce(dependencies, 'The token is revoked, but may still work for a while. Look in a minute.');
  return redirect(doneAt(personPath(staffId), 'revoked'));
}

function whyNot(refusal: Refusal): PageRefusal {
  if (refusal === 'key_not_found') return missing();
  if (refusal === 'role_of_provider')
    return badInput('The OpenID provider says the role of this person. Change it there.');
  if (refusal === 'too_many_keys')
    return badInput(`All ${count(maxStaffTokens)} tokens that a member may have are in force. Revoke one first.`);
  return pageRefusalFor(refusal);
}
