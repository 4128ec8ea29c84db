import { type Html, html } from '../../documents/html.ts';
import { doneNote, refusalNote, typedInto } from '../form-fields.ts';
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

type Dependencies = Pick<SiteDependencies, 'origins'>;

/**
 * The pages of signing in by a mailed link, as both consoles have them.
 *
 *     form ──▶ mail with a link ──▶ the browser that asked: signed in
 *                              └──▶ any other browser: a page that asks first, which uses nothing up
 *
 * The answer to the form is the same for every address, and is given before anybody looks whose address it is.
 */
export function signInPages({ base, cookieNames, sessionSeconds, people, known, help, tooOld }: SignInTo) {
  const namesFor = ({ origins }: Dependencies) => cookieNames(origins.isSecure);
  return {
    signedOutNote: (visit: Visit): Html | false => doneNote(visit, { out: 'You are signed out.' }),

    /** @param isOnly whether the page has no other way in */
    linkForm: (visit: Visit, isOnly: boolean): Html => {
      const typed = typedInto(visit, `${base}/sign-in`);
      return html`<p>We mail a link to ${people}. It signs you in once, within ${linkMinutes} minutes.</p>
        <form method="post" action="${base}/sign-in" class="stack">
          ${refusalNote(visit, `${base}/sign-in`)}
          <input type="hidden" name="next" value="${nextOf(visit.refused ? visit.form : visit.query, base)}" />
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
      const { email, secret } = askForMail(visit, dependencies);
      const content = html`<p class="lead">
          If <strong>${email}</strong> ${known}, a link is on its way. Open it in this browser within ${linkMinutes}
          minutes.
        </p>
        <p>Nothing comes? ${help}</p>
        <p><a href="${base}/sign-in">Try another address</a></p>`;
      const asked = { secret, next: nextOf(visit.form, base) };
      const cookies = [askingCookie(asked, namesFor(dependencies))];
      return { kind: 'page', cookies, page: { title: 'Look into your mail', content } };
    },

    /** The secret of the browser, if it is one that has asked for a link. */
    askingSecret: (visit: Visit, dependencies: Dependencies): string | undefined =>
      readAsking(visit, namesFor(dependencies), base)?.secret,

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
        readAsking(visit, names, base)?.next ?? base,
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
