import { readAccount } from '../../commands/accounts.ts';
import { type Html, html } from '../../documents/html.ts';
import type { ReadLink, SignInChoice } from '../../ports/console-sessions.ts';
import { note } from '../parts.ts';
import { askForMail, askingCookie, nextOf, readAsking } from '../sign-in/asking-browser.ts';
import { ownerCookies, setCookie } from '../sign-in/cookies.ts';
import { type Answer, page, PageRefusal, redirect, type Visit } from '../visit.ts';
import type { ConsoleDependencies } from './dependencies.ts';

/**
 * Signing in by a mailed link.
 *
 *     form ──▶ mail with a link ──▶ the browser that asked: signed in
 *                              └──▶ any other browser: a page that asks first, which uses nothing up
 *
 * The answer to the form is the same for every address, and is given before anybody looks whether the address has an account.
 */

const base = '/console';
const linkMinutes = 15;
const sessionDays = 30;

export function showForm(visit: Visit): Answer {
  const told = visit.query.get('done') === 'out' && note('good', 'You are signed out.');
  return page({
    title: 'Sign in',
    content: html`${told}
      <p>We mail a link to you. It signs you in once, within ${linkMinutes} minutes.</p>
      <form method="post" action="/console/sign-in" class="stack">
        <input type="hidden" name="next" value="${nextOf(visit.query, base)}" />
        <label
          >E-mail address <input type="email" name="email" required autofocus autocomplete="email" maxlength="254"
        /></label>
        <button>Mail me a link</button>
      </form>`,
  });
}

export function askForLink(visit: Visit, dependencies: ConsoleDependencies): Answer {
  const { email, secret } = askForMail(visit, dependencies);
  const names = ownerCookies(dependencies.origins.isSecure);
  return {
    kind: 'page',
    cookies: [askingCookie({ secret, next: nextOf(visit.form, base) }, names, linkMinutes)],
    page: {
      title: 'Look into your mail',
      content: html`<p class="lead">
          If <strong>${email}</strong> belongs to an account, a link is on its way. Open it in this browser within
          ${linkMinutes} minutes.
        </p>
        <p>
          Nothing comes? Look into the folder for unwanted mail, and at the address: it must be the one that your
          account knows.
        </p>
        <p><a href="/console/sign-in">Try another address</a></p>`,
    },
  };
}

const askingBrowser = (visit: Visit, { origins }: ConsoleDependencies) =>
  readAsking(visit, ownerCookies(origins.isSecure), base);

const unusable = () =>
  new PageRefusal(
    404,
    'This link does not work',
    `It was used already, is older than ${String(linkMinutes)} minutes, or is not complete. Ask for a new one.`,
  );

export async function openLink(visit: Visit, dependencies: ConsoleDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await dependencies.links.read(secret);
  const choices = link && (await confirmedByLog(link, dependencies));
  if (!link || !choices || choices.length === 0) return askForAnother(unusable());
  const [only] = choices;
  const isAskedHere = link.isOfBrowser(askingBrowser(visit, dependencies)?.secret);
  if (only && choices.length === 1 && isAskedHere) return await start(visit, dependencies, { secret, ...only });
  return page({
    title: choices.length === 1 ? 'Sign in here?' : 'Which account?',
    content: html`${
        !isAskedHere &&
        html`<p>This link was not asked for in this browser. Go on only if you have asked for it yourself.</p>`
      }
      <form method="post" action="/console/sign-in/${secret}" class="stack">
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

/** A row of Postgres alone makes nobody a person of an account: the log must say that the address is that person's. */
async function confirmedByLog(
  { choices, emailHashes: ofLink }: ReadLink,
  { store, emailHashes }: ConsoleDependencies,
): Promise<SignInChoice[]> {
  const confirmed = await Promise.all(
    choices.map(async (choice) => {
      const person = (await readAccount(store, choice.accountId)).people.get(choice.personId);
      if (!person || person.removed) return [];
      return emailHashes(person.email).some((each) => ofLink.includes(each)) ? [choice] : [];
    }),
  );
  return confirmed.flat();
}

const askForAnother = ({ status, title, message }: PageRefusal): Answer => ({
  kind: 'page',
  status,
  page: {
    title,
    content: html`<p class="lead">${message}</p>
      <p><a class="button" href="/console/sign-in">Ask for a new link</a></p>`,
  },
});

export async function useLink(visit: Visit, dependencies: ConsoleDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await dependencies.links.read(secret);
  const choices = link && (await confirmedByLog(link, dependencies));
  const choice = choices?.find(({ accountId }) => accountId === visit.form.get('account'));
  if (!choice) return askForAnother(unusable());
  return await start(visit, dependencies, { secret, ...choice });
}

async function start(
  visit: Visit,
  dependencies: ConsoleDependencies,
  { secret, ...choice }: SignInChoice & { secret: string },
): Promise<Answer> {
  const names = ownerCookies(dependencies.origins.isSecure);
  const session = await dependencies.links.use(secret, {
    ...choice,
    browser: visit.request.headers['user-agent'] ?? '',
    replaces: visit.cookies.get(names.session),
  });
  if (session === undefined) return askForAnother(unusable());
  const { isSecure } = names;
  return redirect(
    askingBrowser(visit, dependencies)?.next ?? base,
    setCookie(names.session, session, { isSecure, maxAgeSeconds: sessionDays * 86_400 }),
    setCookie(names.browser, '', { isSecure, maxAgeSeconds: 0 }),
  );
}
