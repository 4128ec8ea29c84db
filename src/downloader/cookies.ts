import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of cookies that one attempt has for itself, in the attempt's directory. */
const cookiesName = 'cookies.txt';
const httpOnly = '#HttpOnly_';
const fieldCount = 7;

/** True for a host of the platform, and for every host below it. */
function isHostOf(domain: string, hosts: readonly string[]): boolean {
  return hosts.some((host) => domain === host || domain.endsWith(`.${host}`));
}

/** The hosts of a row of the table of platforms, without the labels that stand for several. */
export const fixedHosts = (hosts: readonly string[]): string[] =>
  hosts.map((host) => host.replace(/^(?:\*|\{\w+\})\./, ''));

/**
 * Takes from a file of cookies in Netscape's format those of a platform. A browser's export has the cookies of every site that its
 * user is signed in to, and the rest stays here.
 *
 * @param hosts of the platform
 * @returns a file of the same format
 * @throws if none is left, since a download without them would fail for a reason that is not the video's
 */
export function cookiesOfHosts(text: string, hosts: readonly string[]): string {
  const lines = text.split(/\r?\n/).filter((line) => {
    if (line.startsWith('#') && !line.startsWith(httpOnly)) return false;
    const fields = line.replace(httpOnly, '').split('\t');
    const [domain = ''] = fields;
    return fields.length === fieldCount && isHostOf(domain.replace(/^\./, '').toLowerCase(), hosts);
  });
  if (lines.length === 0)
    throw new Error(`it has no cookie for ${hosts.slice(0, 3).join(', ')}, in Netscape's format.`);
  return ['# Netscape HTTP Cookie File', ...lines, ''].join('\n');
}

/**
 * Does something with a file of cookies in an attempt's directory, whose user it is given to with the directory, and removes it
 * afterwards. The engine writes new cookies into this copy alone.
 *
 * @param cookies undefined for a platform without any
 * @param work is given the arguments that name the file
 */
export async function withCookies<Result>(
  cookies: string | undefined,
  directory: string,
  work: (cookieArguments: readonly string[]) => Promise<Result>,
): Promise<Result> {
  if (cookies === undefined) return await work([]);
  const path = join(directory, cookiesName);
  await writeFile(path, cookies, { mode: 0o600, flag: 'wx' });
  try {
    return await work(['--cookies', path]);
  } finally {
    // A child that was taken over may have put anything in its place.
    await rm(path, { recursive: true, force: true });
  }
}
