import { type Html, html } from '../../documents/html.ts';
import { doneNote, refusalNote, typedInto } from '../form-fields.ts';
import { note } from '../parts.ts';
import type { SiteDependencies } from '../site.ts';
import { type Answer, page, redirect, type Visit } from '../visit.ts';
import { type AskForMail, askForMail, askingCookie, linkMinutes, nextOf, readAsking } from './asking-browser.ts';
import { type CookieNames, setCookie } from './cookies.ts';

/** A console, as its pages of signing in need it, and what they say of it. */
interface SignInTo {
  base: '/console' | '/staff';
  cookieNames: (isSecure: boolean) => CookieNames;
  sessionSeconds: number;
  /** Whom links are mailed to. */
  people: string;
  /** What must be true of an address, and what to do where nothing comes. */
  known: string;
  help: string;
  /** Since when a link does not work any more. */
  tooOld: string;
}

const formNotSent =
  'The form was not sent, because you were signed out. Nothing was changed. Sign in, and send it again from its page.';

type Dependencies = Pick<SiteDependencies, 'origins'>;

/**
 * The pages of signing in by a mailed link, as both consoles have them.
 *
 *     form ──▶ mail with a link ──▶ the browser that asked: signed in
 *                              └──▶ any other browser: a page that asks first, which uses nothing up
 *     a link that was printed, or came with an invitation ──▶ a page that greets its owner, and uses nothing up
 *
 * The answer to the form is the same for every address, and is given before anybody looks whose address it is.
 */
export function signInPages({ base, cookieNames, sessionSeconds, people, known, help, tooOld }: SignInTo) {
  const namesFor = ({ origins }: Dependencies) => cookieNames(origins.isSecure);
  /** Where one goes on from the form with which one asks for a link, or uses one in another browser. */
  const nextField = ({ query, form, refused }: Visit): Html =>
    html`<input type="hidden" name="next" value="${nextOf(refused ? form : query, base)}" />`;
  return {
    nextField,

    signedOutNote: (visit: Visit): Html | false =>
      visit.query.has('unsent')
        ? html`<div data-not-sent>${note('warn', formNotSent)}</div>`
        : doneNote(visit, { out: 'You are signed out.' }),

    /** @param isOnly whether the page has no other way in */
    linkForm: (visit: Visit, isOnly: boolean): Html => {
      const typed = typedInto(visit, `${base}/sign-in`);
      return html`<p>We mail a link to ${people}. It signs you in once, within ${linkMinutes} minutes.</p>
        <form method="post" action="${base}/sign-in" class="stack">
          ${refusalNote(visit, `${base}/sign-in`)} ${nextField(visit)}
          <label
            >E-mail address
            <input
              type="email"
              name="email"
              required
              ${isOnly && html`autofocus`}
              autocomplete="email"
              maxlength="254"
              value="${typed('email') ?? ''}"
          /></label>
          <button class="${!isOnly && 'second'}">Mail me a link</button>
        </form>`;
    },

    mailLink: (visit: Visit, dependencies: Dependencies & AskForMail): Answer => {
      const next = nextOf(visit.form, base);
      const { email, secret } = askForMail(visit, next, dependencies);
      const content = html`<p class="lead">
          If <strong>${email}</strong> ${known}, a link is on its way. Open it in this browser within ${linkMinutes}
          minutes.
        </p>
        <p>Nothing comes? ${help}</p>
        <p><a href="${base}/sign-in">Try another address</a></p>`;
      const cookies = [askingCookie({ secret, next }, namesFor(dependencies))];
      return { kind: 'page', cookies, page: { title: 'Look into your mail', content } };
    },

    /** The secret of the browser, if it is one that has asked for a link. */
    askingSecret: (visit: Visit, dependencies: Dependencies): string | undefined =>
      readAsking(visit, namesFor(dependencies), base)?.secret,

    /** Why a link does not sign in by being opened. @param isUnasked no browser has asked for it */
    whyPressed: (isUnasked: boolean): { title: string; note: Html } =>
      isUnasked
        ? {
            title: 'Welcome to Reeltally',
            note: html`<p>
              This link was made for you, and signs you in with one press. It works once, and programs that preview
              links open them too: so opening it alone does not use it up.
            </p>`,
          }
        : {
            title: 'Sign in here?',
            note: html`<p>
              This link was asked for in another browser. Go on only if you have asked for it yourself.
            </p>`,
          },

    unusableLink: (): Answer => {
      const content = html`<p class="lead">It was used already, is ${tooOld}, or is not complete. Ask for a new one.</p>
        <p><a class="button" href="${base}/sign-in">Ask for a new link</a></p>`;
      return page({ title: 'This link does not work', content }, 404);
    },

    /** What a new session keeps of the browser that it begins in. @returns replaces: the secret of the session that it had before */
    browserOf: ({ request, cookies }: Visit, dependencies: Dependencies) => ({
      browser: request.headers['user-agent'] ?? '',
      replaces: cookies.get(namesFor(dependencies).session),
    }),

    /** @param session the secret of a session that has begun */
    signedIn: (visit: Visit, dependencies: Dependencies, session: string): Answer => {
      const names = namesFor(dependencies);
      const { isSecure } = names;
      return redirect(
        readAsking(visit, names, base)?.next ?? nextOf(visit.form, base),
        setCookie(names.session, session, { isSecure, maxAgeSeconds: sessionSeconds }),
        setCookie(names.browser, '', { isSecure, maxAgeSeconds: 0 }),
      );
    },

    signedOut: (dependencies: Dependencies): Answer => {
      const { session, isSecure } = namesFor(dependencies);
      return redirect(`${base}/sign-in?done=out`, setCookie(session, '', { isSecure, maxAgeSeconds: 0 }));
    },
  };
}
