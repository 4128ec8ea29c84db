import { staff as staffModel } from '../../../../projections/staff.ts';
import { readStaff, recordSignIn } from '../../../commands/staff.ts';
import { html } from '../../../documents/html.ts';
import { isRefused } from '../../../domain/refusals.ts';
import type { Member } from '../../../domain/staff.ts';
import type { ReadStaffLink } from '../../../ports/staff-sessions.ts';
import { folded } from '../../form-fields.ts';
import { untilInForce } from '../../in-force.ts';
import { nextOf } from '../../sign-in/asking-browser.ts';
import { staffCookies } from '../../sign-in/cookies.ts';
import { signInPages } from '../../sign-in/sign-in-pages.ts';
import { type Answer, page, type StaffVisit, type Visit } from '../../visit.ts';
import type { StaffDependencies } from '../dependencies.ts';

/** Signing in by the OpenID provider, or by a link that was mailed or printed. */

const pages = signInPages({
  base: '/staff',
  cookieNames: staffCookies,
  sessionSeconds: 12 * 3_600,
  people: 'people who were invited',
  known: 'was invited',
  help: 'Ask an admin whether you were invited, and with which address.',
  tooOld: 'too old',
});
const recordMs = 5_000;

export function showForm(visit: Visit, { provider }: StaffDependencies): Answer {
  const form = pages.linkForm(visit, !provider);
  const byProvider = () => {
    const next = encodeURIComponent(nextOf(visit.query, '/staff'));
    return html`<p>
        <a class="button" href="/staff/sign-in/with-provider?next=${next}">Sign in with ${provider?.name ?? ''}</a>
      </p>
      ${folded('By a mailed link', form, { isOpen: visit.refused !== undefined })}`;
  };
  return page({
    title: 'Sign in to the staff console',
    content: html`${pages.signedOutNote(visit)} ${provider ? byProvider() : form}`,
  });
}

export const askForLink = pages.mailLink;

export async function openLink(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await readUsable(secret, dependencies);
  if (!link) return pages.unusableLink();
  if (link.isOfBrowser(pages.askingSecret(visit, dependencies)))
    return await start(visit, dependencies, { secret, ...link });
  const { title, note } = pages.whyPressed(link.isUnasked);
  return page({
    title,
    content: html`${note}
      <form method="post" action="/staff/sign-in/${secret}" class="stack">
        ${pages.nextField(visit)}
        <button>Sign in</button>
      </form>`,
  });
}

export async function useLink(visit: Visit, dependencies: StaffDependencies): Promise<Answer> {
  const secret = visit.params['secret'] ?? '';
  const link = await readUsable(secret, dependencies);
  return link ? await start(visit, dependencies, { secret, ...link }) : pages.unusableLink();
}

/** A link of somebody who may use it: the log says who is staff. */
async function readUsable(secret: string, dependencies: StaffDependencies): Promise<ReadStaffLink | undefined> {
  const link = await dependencies.links.read(secret);
  if (!link) return undefined;
  const { member, removed } = await readStaff(dependencies, link.staffId);
  return member?.invited && !removed ? link : undefined;
}

async function start(
  visit: Visit,
  dependencies: StaffDependencies,
  { secret, staffId }: ReadStaffLink & { secret: string },
): Promise<Answer> {
  // The first of two browsers that use the link takes it.
  if (!(await dependencies.links.use(secret))) return pages.unusableLink();
  const request = { correlationId: visit.request.id, timeoutMs: recordMs };
  const member = await recordSignIn(dependencies, { staffId, signIn: { by: 'link' }, ...request });
  return isRefused(member) ? pages.unusableLink() : await startSession(visit, dependencies, { staffId, member });
}

/** @param person somebody whose sign-in is recorded in the log */
export async function startSession(
  visit: Visit,
  dependencies: StaffDependencies,
  { staffId, member }: { staffId: string; member: Member },
): Promise<Answer> {
  // Sessions hold for members that the read model knows.
  await untilInForce(dependencies, staffModel, 'Your sign-in is recorded. Sign in again in a minute.');
  const secret = await dependencies.sessions.start({
    staffId,
    role: member.role,
    ...pages.browserOf(visit, dependencies),
  });
  return pages.signedIn(visit, dependencies, secret);
}

export async function signOut({ session }: StaffVisit, dependencies: StaffDependencies): Promise<Answer> {
  await dependencies.sessions.end(session.staffId, session.sessionId);
  return pages.signedOut(dependencies);
}
