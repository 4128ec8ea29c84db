import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from './wait-for.ts';

/** The mails to an address that a service without a mail server has written, in the order of their times. */
export async function mailsTo(dataDirectory: string, email: string): Promise<string[]> {
  const folder = join(dataDirectory, 'mails');
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml')).sort();
  const mails = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return mails.filter((mail) => mail.toLowerCase().includes(`to: ${email.toLowerCase()}\r\n`));
}

/** The link that was mailed to an address; waits for it. */
export const mailedLink = (dataDirectory: string, email: string): Promise<string> =>
  waitFor(async () => (await mailsTo(dataDirectory, email)).flatMap(linksOf).at(-1), {
    what: `a mail with a link to ${email}`,
  });

/** Long lines of a mail are folded by its encoding (RFC 2045, 6.7). */
export const linksOf = (mail: string): string[] =>
  mail
    .replaceAll(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
    .match(/http\S+\/(?:console|staff)\/sign-in\/\S+/g) ?? [];
