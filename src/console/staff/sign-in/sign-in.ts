import { readStaff, recordSignIn } from '../../../commands/staff.ts';
import { type Html, html } from '../../../documents/html.ts';
import { isRefused } from '../../../domain/refusals.ts';
import type { ReadStaffLink } from '../../../ports/staff-sessions.ts';
import { note } from '../../parts.ts';
import { askForMail, askingCookie, nextOf, readAsking } from '../../sign-in/asking-browser.ts';
import { staffCookies } from '../../sign-in/cookies.ts';
import { type Answer, page, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { startSession } from './session.ts';

/**
 * Signing in by the OpenID provider, or by a link that was mailed or printed.
 *
 *     form ──▶ mail with a link ──▶ the browser that asked: signed in
 *                              └──▶ any other browser: a page that asks first, which uses nothing up
 *
 * The answer to the form is the same for every address, and is given before anybody looks whose address it is.
 */

const base = '/staff';
const linkMinutes = 15;
const recordMs = 5_000;

export function showForm(visit: Visit, { provider }: StaffDependencies): Answer {
  const told = visit.query.get('done') === 'out' && note('good', 'You are signed out.');
  const next = nextOf(visit.query, base);
  const form = linkForm(next, provider === undefined);
  return page({
    title: 'Sign in to the staff console',
    content: html`${told}
    ${
      provider &&
      html`<p>
        <a class="button" href="/staff/sign-in/with-provider?next=${encodeURIComponent(next)}"
          >Sign in with ${provider.name}</a
        >
      </p>`
    }
    ${
      provider
        ? html`<details>
            <summary>By a mailed link</summary>
            ${form}
          </details>`
        : form
    }`,
  });
}

const linkForm = (next: string, isOnly: boolean): Html =>
  html`<p>We mail a link to people who were invited. It signs you in once, within ${linkMinutes} minutes.</p>
    <form method="post" action="/staff/sign-in" class="stack">
      <input type="hidden" name="next" value="${next}" />
      <label
        >E-mail address
        <input type="email" name="email" required ${isOnly && html`autofocus`} autocomplete="email" maxlength="254"
      /></label>
      <button class="${!isOnly && 'second'}">Mail me a link</button>
    </form>`;

export function askForLink(visit: Visit, dependencies: StaffDependencies): Answer {
  const { email, secret } = askForMail(visit, dependencies);
  const names = staffCookies(dependencies.origins.isSecure);
  return {
    kind: 'page',
    cookies: [askingCookie({ secret, next: nextOf(visit.form, base) }, names, linkMinutes)],
    page: {
      title: 'Look into your mail',
      content: html`<p class="lead">
          If <strong>${email}</strong> was invited, a link is on its way. Open it in this browser within ${linkMinutes}
          minutes.
        </p>
        <p>Nothing comes? Ask an admin whether you were invited, and with which address.</p>
        <p><a href="/staff/sign-in">Try another address</a></p>`,
    },
  };
}

export async function openLink(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await readUsable(secret, dependencies);
  if (!link) return askForAnother();
  const asking = readAsking(visit, staffCookies(dependencies.origins.isSecure), base);
  if (link.isOfBrowser(asking?.secret)) return await start(visit, dependencies, { secret, ...link });
  return page({
    title: 'Sign in here?',
    content: html`<p>This link was not asked for in this browser. Go on only if it was made for you.</p>
      <form method="post" action="/staff/sign-in/${secret}" class="stack"><button>Sign in</button></form>`,
  });
}

export async function useLink(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await readUsable(secret, dependencies);
  return link ? await start(visit, dependencies, { secret, ...link }) : askForAnother();
}

/** A link of somebody who may use it: the log says who is staff. */
async function readUsable(secret: string, { links, staff }: StaffDependencies): Promise<ReadStaffLink | undefined> {
  const link = await links.read(secret);
  if (!link) return undefined;
  const { member, removed } = await readStaff(staff, link.staffId);
  return member?.invited && !removed ? link : undefined;
}

async function start(
  visit: Visit,
  dependencies: StaffDependencies,
  { secret, staffId }: ReadStaffLink & { secret: string },
): Promise<Answer> {
  // The first of two browsers that use the link takes it.
  if (!(await dependencies.links.use(secret))) return askForAnother();
  const request = { correlationId: visit.request.id, timeoutMs: recordMs };
  const member = await recordSignIn(dependencies.staff, { staffId, signIn: { by: 'link' }, ...request });
  return isRefused(member) ? askForAnother() : await startSession(visit, dependencies, { staffId, member });
}

const askForAnother = (): Answer => ({
  kind: 'page',
  status: 404,
  page: {
    title: 'This link does not work',
    content: html`<p class="lead">It was used already, is too old, or is not complete. Ask for a new one.</p>
      <p><a class="button" href="/staff/sign-in">Ask for a new link</a></p>`,
  },
});
