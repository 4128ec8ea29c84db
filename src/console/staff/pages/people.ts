import type { AccessRecord } from '../../../../projections/access-records.ts';
import { listStaffOfAddress, staff as staffModel } from '../../../../projections/staff.ts';
import { invitedIdOf } from '../../../commands/ids/reference-ids.ts';
import { inviteStaff } from '../../../commands/staff.ts';
import { type Html, html } from '../../../documents/html.ts';
import { email as emailField } from '../../../domain/plain-text.ts';
import { isRefused } from '../../../domain/refusals.ts';
import { type StaffRole, staffRole, staffRoles } from '../../../domain/staff-events.ts';
import { choiceField, formKeyField, formKeyOf, postForm, type Typed } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { countCell, empty, listTable, note, rowName, tag, time } from '../../parts.ts';
import { type Answer, badInput, page, PageRefusal, redirect, type StaffVisit } from '../../visit.ts';
import { accountLink, accountPath, downloadPath, olderLink, personPath } from '../addresses.ts';
import { pageRefusalFor } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { orderOf, reasonField } from '../staff-request.ts';
import { type Rows, viewPage } from '../view.ts';
import { accessRecords as accessRecordsView, type MemberShown, people as peopleView } from '../views/people.ts';

/** Who is staff, and which of them has looked at whose data. */

export const show = viewPage(peopleView, { title: 'People', section: 'people', content });

function content(
  { rows: members, next }: Rows<MemberShown>,
  visit: StaffVisit,
  { provider, newUuid }: StaffDependencies,
): Html {
  return html`<p>
      These people may open this console. <a href="/staff/people/looks">Looks at personal data</a> shows who has looked
      at whose data.
    </p>
    ${list(members, visit.session.staffId)}
    ${next !== null && html`<p class="pages"><a rel="next" href="/staff/people?after=${next}">More</a></p>`}
    <h2 id="invite">Invite somebody</h2>
    ${provider && html`<p>People whom ${provider.name} knows need no invitation: it says their roles at each sign-in.</p>`}
    ${postForm(
      visit,
      '/staff/people',
      (typed) =>
        html`${formKeyField(typed('form_key') ?? newUuid())}
          <label
            >E-mail address
            <input
              type="email"
              name="email"
              required
              maxlength="254"
              autocomplete="off"
              value="${typed('email') ?? ''}"
          /></label>
          ${roleField(typed('role') ?? 'support')} ${whyField(typed)}
          <button>Invite</button>`,
    )}`;
}

const roleTexts: Readonly<Record<StaffRole, string>> = {
  support: 'support: reads, and asks for corrections',
  finance: 'finance: also gives back, and approves what others ask for',
  admin: 'admin: also manages staff and their tokens',
};

export const roleField = (current: string): Html =>
  choiceField(
    'Role',
    'role',
    current,
    staffRoles.map((role) => [role, roleTexts[role]]),
  );

export const whyField = (typed: Typed): Html => reasonField(typed, { hint: 'The log keeps it with your name.' });

/** @throws {PageRefusal} for anything else */
export function readRole(form: URLSearchParams): StaffRole {
  const role = staffRole.safeParse(form.get('role'));
  if (role.success) return role.data;
  throw badInput('Choose a role: support, finance or admin.');
}

const list = (members: readonly MemberShown[], ownId: string): Html =>
  listTable({ name: 'Members of staff', none: empty(html`<p>There is nobody else.</p>`) }, members, {
    Member: rowName(
      ({ staff_id: id, email }) =>
        html`<a data-row href="${personPath(id)}">${email ?? html`<code>${id}</code>`}</a>
          ${id === ownId && tag('you')}`,
    ),
    Role: roleTag,
    'Signs in': ({ invited }) => (invited ? 'by a link' : 'by the OpenID provider'),
    Since: ({ since }) => time(since),
    'Last sign-in': lastSignIn,
    Tokens: countCell(({ tokens }) => tokens),
  });

export const roleTag = ({ role, removed_at: removedAt }: MemberShown): Html =>
  removedAt === null ? tag(role, 'info') : tag('removed', 'bad');

export const lastSignIn = ({ signed_in_at: at }: MemberShown): Html =>
  at === null ? html`<span class="soft">never</span>` : time(at);

export async function invite(visit: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  const email = emailField.safeParse((visit.form.get('email') ?? '').trim());
  if (!email.success) throw badInput('That is not an e-mail address such as name@example.com. Nobody was invited.');
  const role = readRole(visit.form);
  const order = orderOf(visit);
  const asked = { email: email.data, role };
  const idOfForm = invitedIdOf(formKeyOf(visit) ?? dependencies.newUuid(), asked);
  const known = await findKnown(email.data, dependencies);
  if (known?.staff_id === idOfForm) return redirect(personPath(idOfForm));
  if (known)
    throw badInput(
      `${email.data} is staff already, as ${known.staff_id} in the role ${known.role}. Nobody was invited.`,
    );
  const invited = await inviteStaff(dependencies, { ...asked, staffId: idOfForm, ...order });
  if (isRefused(invited))
    throw invited.refusal === 'staff_removed'
      ? badInput('Whom this form has invited was removed since. Open the page anew to invite the person again.')
      : pageRefusalFor(invited.refusal);
  const { staffId } = invited;
  await untilStaffInForce(dependencies, 'The person is invited. In a minute the list of people shows it.');
  const { own } = dependencies.origins;
  return page({
    title: 'Invited',
    section: 'people',
    content: html`${note('good', `${email.data} is staff now, in the role ${role}.`)}
      ${(await mailed(staffId, asked, dependencies)) ? byMail(email.data) : notMailed(email.data, dependencies)}
      <p>From then on the person asks for a link by mail, at <code>${own}/staff/sign-in</code>.</p>
      <p class="pages"><a class="button second" href="${personPath(staffId)}">To the person</a></p>`,
  });
}

/**
 * The link is a way in, and is shown to nobody here: whoever invites could go it, and approve as another person what they ask for.
 *
 * @returns whether the mail server has taken the mail
 * @throws {PageRefusal} where the person was sent as many links as are sent
 */
export async function mailed(
  staffId: string,
  invited: { email: string; role: StaffRole },
  dependencies: StaffDependencies,
): Promise<boolean> {
  const { mailInvitation, serviceParts, links, origins } = dependencies;
  if (!mailInvitation) return false;
  const secret = await links.create({ staffId, browser: undefined });
  if (secret === undefined)
    throw new PageRefusal(
      429,
      'Look into the mail',
      `${invited.email} was sent several links just now, which is as many as are sent. The newest one works; another one can be sent in a quarter of an hour.`,
    );
  const invitation = { ...invited, link: `${origins.own}/staff/sign-in/${secret}` };
  const part = serviceParts.of('mailing invitations of staff');
  try {
    await mailInvitation(invitation);
    part.works();
    return true;
  } catch (error) {
    part.failed('an invitation', error);
    return false;
  }
}

const byMail = (email: string): Html =>
  html`<p>A link is on its way to <strong>${email}</strong>. It signs the person in, once and within a day.</p>`;

const notMailed = (email: string, { mailInvitation }: StaffDependencies): Html =>
  html`${note('warn', mailInvitation ? 'The mail server has not taken the mail with the link.' : 'There is no mail server, so no link was sent.')}
    <p>An operator makes a link on the command line, and hands it to the person:</p>
    <pre><code>npm run -s reeltally -- staff link ${email}</code></pre>`;

/** Two members of one address could not tell their links apart. */
async function findKnown(email: string, dependencies: StaffDependencies) {
  const { pool, macs } = dependencies;
  await untilStaffInForce(dependencies, 'Nothing was changed: the list of people is behind. Try again in a minute.');
  const [known] = await listStaffOfAddress(pool, { email, macs, limit: 1 });
  return known;
}

/** @throws {PageRefusal} while the read model is behind, with this message */
export const untilStaffInForce = (dependencies: StaffDependencies, message: string): Promise<void> =>
  untilInForce(dependencies, staffModel, message);

export const showAccessRecords = viewPage(accessRecordsView, {
  title: 'Looks at personal data',
  section: 'people',
  content: accessRecordsContent,
  filters: accessRecordsFilter,
});

function accessRecordsContent({ rows: records, next }: Rows<AccessRecord>, visit: StaffVisit): Html {
  return html`${accessRecordsFilter(visit)}
    <p class="soft">The same look within 15 minutes is recorded once.</p>
    ${accessRecordsTable(records)} ${olderLink('/staff/people/looks', visit.query, next)}`;
}

function accessRecordsFilter({ query }: StaffVisit): Html {
  const [person, account] = ['person', 'account'].map((name) => query.get(name) ?? '');
  const isFiltered = person !== '' || account !== '';
  return html`<form method="get" action="/staff/people/looks" class="filters">
    <label>Member <input name="person" value="${person}" maxlength="60" placeholder="stf_…" /></label>
    <label>Account <input name="account" value="${account}" maxlength="60" placeholder="acc_…" /></label>
    <button class="second">Filter</button>
    ${isFiltered && html`<a href="/staff/people/looks">All</a>`}
  </form>`;
}

export const accessRecordsTable = (records: readonly AccessRecord[]): Html =>
  listTable({ name: 'Looks at personal data', none: empty(html`<p>No look is recorded.</p>`) }, records, {
    Time: (record) => time(record.time),
    Member: ({ staff_id: id }) => html`<a href="/staff/people/looks?person=${id}"><code>${id}</code></a>`,
    Account: (row) =>
      row.account_id !== null && accountLink(row, { path: `/staff/people/looks?account=${row.account_id}` }),
    Page: ({ account_id: accountId, token, page: seen }) => {
      if (accountId === null) return 'names in lists';
      return html`<a data-row href="${token === null ? accountPath(accountId) : downloadPath(token)}"
        >${seen}${token !== null && html` <code>${token}</code>`}</a
      >`;
    },
  });
