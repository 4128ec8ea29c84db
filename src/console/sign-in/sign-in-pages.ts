import { type Html, html } from '../../documents/html.ts';
import type { Origins } from '../origins.ts';
import { note } from '../parts.ts';
import { type Answer, redirect, type Visit } from '../visit.ts';
import { type AskForMail, askForMail, askingCookie, nextOf, readAsking } from './asking-browser.ts';
import { type CookieNames, setCookie } from './cookies.ts';

/**
 * The pages of signing in by a mailed link, as both consoles have them.
 *
 *     form ──▶ mail with a link ──▶ the browser that asked: signed in
 *                              └──▶ any other browser: a page that asks first, which uses nothing up
 *
 * The answer to the form is the same for every address, and is given before anybody looks whose address it is.
 */

/** A console, as its pages of signing in need it. */
interface SignInTo {
  base: '/console' | '/staff';
  cookieNames: (isSecure: boolean) => CookieNames;
  sessionSeconds: number;
}

interface Dependencies {
  origins: Origins;
}

export const linkMinutes = 15;

export const signedOutNote = ({ query }: Visit): Html | false =>
  query.get('done') === 'out' && note('good', 'You are signed out.');

/** @param options people: whom links are mailed to; isOnly: whether the page has no other way in */
export const linkForm = (
  visit: Visit,
  { base }: SignInTo,
  { people, isOnly }: { people: string; isOnly: boolean },
): Html =>
  html`<p>We mail a link to ${people}. It signs you in once, within ${linkMinutes} minutes.</p>
    <form method="post" action="${base}/sign-in" class="stack">
      <input type="hidden" name="next" value="${nextOf(visit.query, base)}" />
      <label
        >E-mail address
        <input type="email" name="email" required ${isOnly && html`autofocus`} autocomplete="email" maxlength="254"
      /></label>
      <button class="${!isOnly && 'second'}">Mail me a link</button>
    </form>`;

/** Mails a link. @param texts known: what must be true of the address; help: what to do where nothing comes */
export function mailLink(
  visit: Visit,
  dependencies: Dependencies & AskForMail,
  { base, cookieNames }: SignInTo,
  { known, help }: { known: string; help: string },
): Answer {
  const { email, secret } = askForMail(visit, dependencies);
  const names = cookieNames(dependencies.origins.isSecure);
  return {
    kind: 'page',
    cookies: [askingCookie({ secret, next: nextOf(visit.form, base) }, names, linkMinutes)],
    page: {
      title: 'Look into your mail',
      content: html`<p class="lead">
          If <strong>${email}</strong> ${known}, a link is on its way. Open it in this browser within ${linkMinutes}
          minutes.
        </p>
        <p>Nothing comes? ${help}</p>
        <p><a href="${base}/sign-in">Try another address</a></p>`,
    },
  };
}

/** The secret of the browser, if it is one that has asked for a link. */
export const askingSecret = (
  visit: Visit,
  { origins }: Dependencies,
  { base, cookieNames }: SignInTo,
): string | undefined => readAsking(visit, cookieNames(origins.isSecure), base)?.secret;

/** @param tooOld since when a link does not work any more, in words */
export const unusableLink = ({ base }: SignInTo, tooOld: string): Answer => ({
  kind: 'page',
  status: 404,
  page: {
    title: 'This link does not work',
    content: html`<p class="lead">It was used already, is ${tooOld}, or is not complete. Ask for a new one.</p>
      <p><a class="button" href="${base}/sign-in">Ask for a new link</a></p>`,
  },
});

/** What a new session keeps of the browser that it begins in. @returns replaces: the secret of the session that it had before */
export const browserOf = (visit: Visit, { origins }: Dependencies, { cookieNames }: SignInTo) => ({
  browser: visit.request.headers['user-agent'] ?? '',
  replaces: visit.cookies.get(cookieNames(origins.isSecure).session),
});

/** @param session the secret of a session that has begun */
export function signedIn(
  visit: Visit,
  { origins }: Dependencies,
  { base, cookieNames, sessionSeconds }: SignInTo,
  session: string,
): Answer {
  const names = cookieNames(origins.isSecure);
  const { isSecure } = names;
  return redirect(
    readAsking(visit, names, base)?.next ?? base,
    setCookie(names.session, session, { isSecure, maxAgeSeconds: sessionSeconds }),
    setCookie(names.browser, '', { isSecure, maxAgeSeconds: 0 }),
  );
}

export function signedOut({ origins }: Dependencies, { base, cookieNames }: SignInTo): Answer {
  const { session, isSecure } = cookieNames(origins.isSecure);
  return redirect(`${base}/sign-in?done=out`, setCookie(session, '', { isSecure, maxAgeSeconds: 0 }));
}
