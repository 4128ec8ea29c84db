/**
 * The cookies of the consoles (RFC 6265). Over https, their names have the prefix with which browsers let no other host set them.
 * Cookies are those of a host, whatever its port: the two consoles have names of their own.
 */

export interface CookieNames {
  session: string;
  /** The browser that has asked for a sign-in link, or was sent to the OpenID provider. */
  browser: string;
  isSecure: boolean;
}

const cookies =
  (session: string, browser: string) =>
  (isSecure: boolean): CookieNames => {
    const prefix = isSecure ? '__Host-' : '';
    return { session: `${prefix}${session}`, browser: `${prefix}${browser}`, isSecure };
  };

export const ownerCookies = cookies('reeltally_session', 'reeltally_browser');
export const staffCookies = cookies('reeltally_staff', 'reeltally_staff_browser');

/** A cookie that is sent twice is none: a page of another port or path may have set one of the two. */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  const twice = new Set<string>();
  for (const part of (header ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at < 1) continue;
    const name = part.slice(0, at).trim();
    if (cookies.has(name)) twice.add(name);
    cookies.set(name, part.slice(at + 1).trim());
  }
  for (const name of twice) cookies.delete(name);
  return cookies;
}

/** @param maxAgeSeconds 0 removes it */
export function setCookie(
  name: string,
  value: string,
  { isSecure, maxAgeSeconds }: { isSecure: boolean; maxAgeSeconds: number },
): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${String(maxAgeSeconds)}${secure}`;
}
