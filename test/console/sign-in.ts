import type { ReceivedMail, TestMailServer } from '../support/mail-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Browser, formTokenOf } from './browser.ts';

/** Signing in as people do: a form, a mail, its link. */

/** The address that a sign-in mail names. */
function linkOf({ raw }: ReceivedMail): string {
  const [link] = /https?:\/\/\S+\/console\/sign-in\/\S+/.exec(raw.replaceAll('=\r\n', '')) ?? [];
  if (link === undefined) throw new Error(`there is no link in the mail:\n${raw}`);
  return link;
}

/** Sends the form, and waits for the mail. @returns the path of the link */
export async function askForLink(browser: Browser, email: string, mails: TestMailServer, next = ''): Promise<string> {
  const mailsOf = () => mails.taken.filter(({ to }) => to === email.toLowerCase());
  const before = mailsOf().length;
  const answer = await browser.post('/console/sign-in', { email, next });
  if (answer.status !== 200) throw new Error(`the form was answered ${String(answer.status)}: ${answer.text}`);
  const mail = await waitFor(() => mailsOf()[before], { what: `a sign-in link for ${email}` });
  return new URL(linkOf(mail)).pathname;
}

/** A browser that is signed in, to one of the address's accounts. */
export async function signIn(browser: Browser, email: string, mails: TestMailServer): Promise<Browser> {
  const path = await askForLink(browser, email, mails);
  const opened = await browser.get(path);
  if (opened.status !== 303) throw new Error(`the link was answered ${String(opened.status)}: ${opened.text}`);
  browser.formToken = formTokenOf(await browser.get('/console/keys'));
  return browser;
}
