import { readAccount, recordSignIn } from '../../commands/accounts.ts';
import { type Html, html } from '../../documents/html.ts';
import { activePerson } from '../../domain/people.ts';
import { isRefused } from '../../domain/refusals.ts';
import type { ReadLink, SignInChoice } from '../../ports/console-sessions.ts';
import { linkMinutes } from '../sign-in/asking-browser.ts';
import { ownerCookies } from '../sign-in/cookies.ts';
import { signInPages } from '../sign-in/sign-in-pages.ts';
import { type Answer, type OwnerVisit, page, type Visit } from '../visit.ts';
import { browserName } from './browser-name.ts';
import type { ConsoleDependencies } from './dependencies.ts';

/** Signing in by a mailed link: to one of the accounts that have its address. */

const signInMs = 5_000;

const pages = signInPages({
  base: '/console',
  cookieNames: ownerCookies,
  sessionSeconds: 30 * 86_400,
  people: 'you',
  known: 'belongs to an account',
  help: 'Look into the folder for unwanted mail, and at the address: it must be the one that your account knows.',
  tooOld: `older than ${String(linkMinutes)} minutes`,
});

export const showForm = (visit: Visit): Answer =>
  page({ title: 'Sign in', content: html`${pages.signedOutNote(visit)} ${pages.linkForm(visit, true)}` });

export const askForLink = pages.mailLink;

export async function openLink(visit: Visit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { secret, link, choices } = await readLink(visit, dependencies);
  const [only] = choices;
  if (!link || !only) return pages.unusableLink();
  const isAskedHere = link.isOfBrowser(pages.askingSecret(visit, dependencies));
  if (choices.length === 1 && isAskedHere) return await start(visit, dependencies, { secret, ...only });
  const { title, note } = pages.whyPressed(link.isUnasked);
  return page({
    title: choices.length === 1 ? title : 'Which account?',
    content: html`${!isAskedHere && note}
      <form method="post" action="/console/sign-in/${secret}" class="stack">
        ${pages.nextField(visit)}
        <fieldset>
          <legend class="visually-hidden">Account</legend>
          ${choices.map((choice, index) => accountChoice(choice, index === 0))}
        </fieldset>
        <button>Sign in</button>
      </form>`,
  });
}

const accountChoice = ({ accountId }: SignInChoice, isFirst: boolean): Html =>
  html`<label class="inline"
    ><input type="radio" name="account" value="${accountId}" ${isFirst && html`checked`} />
    <code>${accountId}</code></label
  >`;

/** The link of an address, and the accounts that it may sign in to: none where it cannot be used. */
async function readLink({ params: { secret = '' } }: Visit, dependencies: ConsoleDependencies) {
  const link = await dependencies.links.read(secret);
  return { secret, link, choices: link ? await confirmedByLog(link, dependencies) : [] };
}

/** A row of Postgres alone makes nobody a person of an account: the log must say that the address is that person's. */
async function confirmedByLog(
  { choices, emailHashes: ofLink }: ReadLink,
  { store, emailHashes }: ConsoleDependencies,
): Promise<SignInChoice[]> {
  const confirmed = await Promise.all(
    choices.map(async (choice) => {
      const { people, closed } = await readAccount(store, choice.accountId);
      const person = activePerson(people, choice.personId);
      if (!person || closed) return [];
      return emailHashes(person.email).some((each) => ofLink.includes(each)) ? [choice] : [];
    }),
  );
  return confirmed.flat();
}

export async function useLink(visit: Visit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { secret, choices } = await readLink(visit, dependencies);
  const choice = choices.find(({ accountId }) => accountId === visit.form.get('account'));
  if (!choice) return pages.unusableLink();
  return await start(visit, dependencies, { secret, ...choice });
}

async function start(
  visit: Visit,
  dependencies: ConsoleDependencies,
  { secret, ...choice }: SignInChoice & { secret: string },
): Promise<Answer> {
  const { browser, replaces } = pages.browserOf(visit, dependencies);
  // Before the link is used: while the log is away, it stays good.
  const noted = await recordSignIn(dependencies.accounts, {
    ...choice,
    browser: browserName(browser),
    correlationId: visit.request.id,
    actor: { type: 'owner', id: choice.personId },
    timeoutMs: signInMs,
  });
  if (isRefused(noted)) return pages.unusableLink();
  const session = await dependencies.links.use(secret, { ...choice, browser, replaces });
  return session === undefined ? pages.unusableLink() : pages.signedIn(visit, dependencies, session);
}

export async function endAllSessions(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  await dependencies.sessions.endAll(visit.session);
  return pages.signedOut(dependencies);
}

export async function signOut(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  await dependencies.sessions.end(visit.session, visit.session.sessionId);
  return pages.signedOut(dependencies);
}
