import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from './wait-for.ts';

/** The link that was mailed to an address; waits for it. */
export function mailedLink(dataDirectory: string, email: string): Promise<string> {
  const folder = join(dataDirectory, 'mails');
  return waitFor(
    async () => {
      const names = await readdir(folder).catch(() => []);
      const mails = names.filter((name) => name.endsWith('.eml')).map((name) => readFile(join(folder, name), 'utf8'));
      const links = (await Promise.all(mails)).filter((mail) => mail.includes(`To: ${email}`)).flatMap(linksOf);
      return links.at(-1);
    },
    { what: `a mail with a link to ${email}` },
  );
}

/** Long lines of a mail are folded by its encoding (RFC 2045, 6.7). */
export const linksOf = (mail: string): string[] =>
  mail
    .replaceAll(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
    .match(/http\S+\/console\/sign-in\/\S+/g) ?? [];
