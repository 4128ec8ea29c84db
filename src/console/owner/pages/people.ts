import { people as peopleModel } from '../../../../projections/people.ts';
import { invitePerson, readAccount, removePerson } from '../../../commands/accounts.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { AccountRefusal } from '../../../domain/account.ts';
import { activePerson, findPerson, listPeople, maxPeople, type People } from '../../../domain/people.ts';
import { email as emailField } from '../../../domain/plain-text.ts';
import { isRefused } from '../../../domain/refusals.ts';
import type { ListedSession } from '../../../ports/console-sessions.ts';
import { doneAt, doneNote, folded, formTokenField, postForm } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { actionCell, count, listTable, rowName, tag, time } from '../../parts.ts';
import { type Answer, badInput, missing, type OwnerVisit, PageRefusal, redirect } from '../../visit.ts';
import { browserName } from '../browser-name.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { requestOf } from '../owner-request.ts';
import { accountTexts } from '../refusal-texts.ts';

/** The people of an account, and the sessions of the one who is signed in. */

export function peopleAndSessions(visit: OwnerVisit, people: People, sessions: readonly ListedSession[]): Html {
  const { session } = visit;
  const listed = listPeople(people);
  const removal = ({ personId, email }: (typeof listed)[number]) =>
    personId !== session.personId &&
    folded(
      html`Remove<span class="visually-hidden"> ${email}</span>…`,
      html`<form method="post" action="/console/settings/people/${personId}/remove" class="stack">
        ${formTokenField(session)}
        <p>${email} is signed out everywhere, and can sign in again only if somebody of the account invites them.</p>
        <button class="quiet">Remove this person</button>
      </form>`,
    );
  const again = ({ personId, email, hasSignedIn }: (typeof listed)[number]) =>
    !hasSignedIn &&
    personId !== session.personId &&
    postForm(
      visit,
      `/console/settings/people/${personId}/invite-again`,
      () =>
        html`<button class="quiet">Send the invitation again<span class="visually-hidden"> to ${email}</span></button>`,
    );
  const ending = ({ sessionId }: ListedSession) =>
    sessionId !== session.sessionId &&
    html`<form method="post" action="/console/settings/sessions/end">
      ${formTokenField(session)} <input type="hidden" name="session" value="${sessionId}" />
      <button class="quiet">Sign out</button>
    </form>`;
  return html`<h2 id="people">People</h2>
    ${doneNote(visit, {
      invited: 'The person is invited. A mail says how to sign in with that address.',
      invited_not_mailed:
        'The person is invited, but no mail could be sent: tell them to sign in here with that address.',
      invited_again: 'The invitation is mailed again: it says how to sign in with that address.',
      there: 'Somebody with that address is one of the people already. No mail was sent.',
      removed: 'The person is removed, and signed out everywhere.',
    })}
    <p>Everybody here can do all that you can: see usage, change the plan and the cap, and issue keys.</p>
    ${listTable('People', listed, {
      'E-mail address': rowName(
        ({ personId, email }) => html`${email}${personId === session.personId && html` ${tag('you')}`}`,
      ),
      Since: ({ since }) => time(since),
      Action: actionCell((person) => html`${again(person)} ${removal(person)}`),
    })}
    ${postForm(
      visit,
      '/console/settings/people',
      (typed) =>
        html`<label
            >E-mail address
            <input
              type="email"
              name="email"
              required
              maxlength="254"
              autocomplete="off"
              value="${typed('email') ?? ''}"
          /></label>
          <button class="second">Invite a person</button>`,
    )}
    <h2 id="sessions">Your sessions</h2>
    ${doneNote(visit, { ended: 'The session is ended.' })}
    ${listTable('Sessions', sessions, {
      Browser: rowName(
        ({ sessionId, browser }) =>
          html`${browserName(browser)}${sessionId === session.sessionId && html` ${tag('this one')}`}`,
      ),
      'Signed in': ({ startedAt }) => time(startedAt),
      'Last seen': ({ seenAt }) => time(seenAt),
      Action: actionCell(ending),
    })}
    <form method="post" action="/console/settings/sessions/end-all">
      ${formTokenField(session)} <button class="second">Sign out everywhere</button>
    </form>`;
}

export async function invite(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const email = emailField.safeParse((visit.form.get('email') ?? '').trim());
  if (!email.success) throw badInput('That is not an e-mail address such as name@example.com. Nobody was invited.');
  // An address that is there already is mailed nothing, however often it is typed.
  const { people } = await readAccount(dependencies.store, visit.session.accountId, dependencies.accountCache);
  if (findPerson(people, email.data)) return redirect(doneAt('/console/settings', 'there'));
  const invited = await invitePerson(dependencies.accounts, { email: email.data, ...requestOf(visit) });
  if (isRefused(invited)) throw badInput(whyNotInvited[invited.refusal]);
  await untilPeopleInForce(dependencies);
  const isMailed = await dependencies.mailInvitation({ email: email.data, accountId: visit.session.accountId });
  return redirect(doneAt('/console/settings', isMailed ? 'invited' : 'invited_not_mailed'));
}

/** For whom the mail was lost. Who has signed in needs none. */
export async function inviteAgain(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const { people } = await readAccount(dependencies.store, accountId);
  const person = activePerson(people, visit.params['person'] ?? '');
  if (!person) throw missing();
  const { email, hasSignedIn } = person;
  if (hasSignedIn) throw badInput('This person has signed in since. No mail was sent.');
  const minutes = dependencies.countAddress(email);
  if (minutes !== undefined)
    throw new PageRefusal(
      429,
      'Look into the mail',
      `${email} was mailed several times just now, which is as often as is sent. Look for the newest mail, maybe in the folder for unwanted mail, or send it again in ${String(minutes)} min.`,
    );
  const isMailed = await dependencies.mailInvitation({ email, accountId });
  return redirect(doneAt('/console/settings', isMailed ? 'invited_again' : 'invited_not_mailed'));
}

const whyNotInvited: Record<AccountRefusal<'invite_person'>, string> = {
  ...accountTexts,
  too_many_invitations: 'Many people were invited in the past hour. Try again in an hour.',
  too_many_people: `An account has at most ${count(maxPeople)} people. Remove somebody first.`,
};

/** Nobody removes themselves: whoever stays may never have signed in, and the account would be lost to its owner. */
export async function remove(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const personId = visit.params['person'] ?? '';
  if (personId === visit.session.personId)
    throw badInput('Somebody else of the account can remove you. Nobody was removed.');
  const removed = await removePerson(dependencies.accounts, { personId, ...requestOf(visit) });
  if (isRefused(removed))
    throw removed.refusal === 'person_not_found' ? missing() : badInput(whyNotRemoved[removed.refusal]);
  await untilPeopleInForce(dependencies);
  return redirect(doneAt('/console/settings', 'removed'));
}

const whyNotRemoved: Record<Exclude<AccountRefusal<'remove_person'>, 'person_not_found'>, string> = {
  ...accountTexts,
  last_person: 'The last person of an account cannot be removed. Invite somebody else first.',
};

/** Sign-in and sessions read the people of the read model. */
const untilPeopleInForce = (dependencies: ConsoleDependencies): Promise<void> =>
  untilInForce(dependencies, peopleModel, 'The change of the people is stored. Look at the settings in a minute.');

export async function endSession(visit: OwnerVisit, { sessions }: ConsoleDependencies): Promise<Answer> {
  await sessions.end(visit.session, visit.form.get('session') ?? '');
  return redirect(doneAt('/console/settings', 'ended'));
}
