import { email as emailField } from '../../domain/plain-text.ts';
import { maxLinksOfAddress } from '../../domain/session-lifetimes.ts';
import { clientAddress } from '../../requests/client-address.ts';
import { badInput, PageRefusal, type Visit } from '../visit.ts';
import { type CookieNames, setCookie } from './cookies.ts';
import type { AskedLink } from './sign-in-mails.ts';

/** The browser that asks to sign in, and the page where it wanted to go: both stand in one cookie. */
export interface AskingBrowser {
  secret: string;
  next: string;
}

export interface AskForMail {
  /** Counts a request for a sign-in link. @returns whether this client has asked too often */
  countSignIn: (clientAddress: string) => boolean;
  /** Counts a link for an address. @returns the minutes until another one is sent, where enough were asked for already */
  countAddress: (email: string) => number | undefined;
  randomBits: (bytes: number) => Buffer;
  /** Mails a link, if somebody has the address. */
  mailLink: (asked: AskedLink) => void;
}

/** Mails a link to the address of the form. @param next where it leads. @returns that address, and the secret of the browser, for its cookie */
export function askForMail(
  { form, request }: Visit,
  next: string,
  { countSignIn, countAddress, randomBits, mailLink }: AskForMail,
): { email: string; secret: string } {
  const { data: email } = emailField.safeParse((form.get('email') ?? '').trim());
  if (email === undefined)
    throw badInput('That is not an e-mail address such as name@example.com. No link was mailed.');
  if (countSignIn(clientAddress(request)))
    throw new PageRefusal(429, 'Too many attempts', 'Too many links were asked for from here. Try again in an hour.');
  const minutes = countAddress(email);
  if (minutes !== undefined)
    throw new PageRefusal(
      429,
      'Look into your mail',
      `${String(maxLinksOfAddress)} links were asked for with ${email} within ${String(linkMinutes)} minutes, which is as many as are sent. Open the newest one, maybe from the folder for unwanted mail, or ask again in ${String(minutes)} min.`,
    );
  const secret = randomBits(24).toString('base64url');
  mailLink({ email, browser: secret, next });
  return { email, secret };
}

/** How long the browser may take to come back: a link works for as long. */
export const linkMinutes = 15;

export const askingCookie = ({ secret, next }: AskingBrowser, { browser, isSecure }: CookieNames) =>
  setCookie(browser, `${secret}.${Buffer.from(next).toString('base64url')}`, {
    isSecure,
    maxAgeSeconds: linkMinutes * 60,
  });

/** @param base path of the console's first page */
export function readAsking({ cookies }: Visit, { browser }: CookieNames, base: string): AskingBrowser | undefined {
  const [secret, next = ''] = cookies.get(browser)?.split('.') ?? [];
  return secret === undefined ? undefined : { secret, next: pageOr(Buffer.from(next, 'base64url').toString(), base) };
}

export const nextOf = (fields: URLSearchParams, base: string): string => pageOr(fields.get('next') ?? '', base);

/** Browsers drop a cookie of more than 4 096 bytes. */
const maxNextCharacters = 2_000;

/**
 * Only a page of this console, or its first one. No path of ours has a dot or a percent sign, with which one could leave it. Pages
 * of signing in would lead round in a circle.
 */
export function pageOr(next: string, base: string): string {
  if (next.startsWith(`${base}/sign-in`)) return base;
  const below = /^(?:\/[\w-]+)*(?:\?[\w\-./?=&%~+:*]*)?(?:#[\w-]+)?$/;
  const isBelow = next.startsWith(base) && below.test(next.slice(base.length));
  return isBelow && next.length <= maxNextCharacters ? next : base;
}
