import { linksOf } from '../support/mailed-links.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Browser, formTokenOf } from './browser.ts';

/** Signing in as people do: a form, a mail, its link. */

export interface Mailbox {
  /** The mails that were sent to an address, as they came; the newest one last. */
  mailsTo: (email: string) => Promise<string[]>;
}

/** Sends the form, and waits for the mail. @returns the path of the link */
export async function askForLink(
  browser: Browser,
  email: string,
  { mailsTo }: Mailbox,
  { next = '', console = 'console' }: { next?: string; console?: 'console' | 'staff' } = {},
): Promise<string> {
  const { length: before } = await mailsTo(email);
  const answer = await browser.post(`/${console}/sign-in`, { email, next });
  if (answer.status !== 200) throw new Error(`the form was answered ${String(answer.status)}: ${answer.text}`);
  const mail = await waitFor(async () => (await mailsTo(email))[before], { what: `a sign-in link for ${email}` });
  const [link] = linksOf(mail);
  if (link === undefined) throw new Error(`there is no link in the mail:\n${mail}`);
  return new URL(link).pathname;
}

/** A browser that is signed in, to one of the address's accounts. */
export async function signIn(browser: Browser, email: string, mails: Mailbox): Promise<Browser> {
  const path = await askForLink(browser, email, mails);
  const opened = await browser.get(path);
  if (opened.status !== 303) throw new Error(`the link was answered ${String(opened.status)}: ${opened.text}`);
  browser.formToken = formTokenOf(await browser.get('/console/keys'));
  return browser;
}

/**
 * Where somebody without a session is sent.
 *
 * @param path of a page, or the address of a form, which leads to a page above it
 */
export function signInFrom(method: string, path: string, base: '/console' | '/staff'): RegExp {
  if (path === `${base}/sign-out`) return new RegExp(`^${base}/sign-in\\?done=out$`);
  if (method === 'POST') return new RegExp(`^${base}/sign-in\\?unsent&next=${encodeURIComponent(base)}[\\w%-]*$`);
  return new RegExp(`^${base}/sign-in${path === base ? '' : `\\?next=${encodeURIComponent(path)}`}$`);
}
