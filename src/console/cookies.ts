/** The console's cookies (RFC 6265). Over https, their names have the prefix with which browsers let no other host set them. */

export interface CookieNames {
  session: string;
  /** The browser that has asked for a sign-in link. */
  browser: string;
  isSecure: boolean;
}

export function cookieNames(isSecure: boolean): CookieNames {
  const prefix = isSecure ? '__Host-' : '';
  return { session: `${prefix}reeltally_session`, browser: `${prefix}reeltally_browser`, isSecure };
}

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
  const attributes = [
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    `Max-Age=${String(maxAgeSeconds)}`,
    ...(isSecure ? ['Secure'] : []),
  ];
  return [`${name}=${value}`, ...attributes].join('; ');
}
