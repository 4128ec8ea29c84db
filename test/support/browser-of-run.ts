import { execFile, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import type { Made } from './offers-of-run.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

/** The browser of the run: unpacked and started for the first test file that opens a page. Each file has contexts of its own. */

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/** Libraries of the system that the unpacked Chromium needs, by the packages of Debian and Ubuntu that bring them. */
const neededLibraries: Readonly<Record<string, string>> = { 'libnss3.so': 'libnss3', 'libnspr4.so': 'libnspr4' };

/** @returns why no browser can run here, and what to do; undefined where one can */
export function whyNoBrowser(): string | undefined {
  if (process.env['BROWSER_PATH'] !== undefined) return undefined;
  const machine = `${process.platform}-${process.arch}`;
  if (machine !== 'linux-x64')
    return `npm brings a Chromium for linux-x64 alone, and this is ${machine}. BROWSER_PATH may name another one.`;
  // Not in the PATH of every user. Without it nothing is printed, and the libraries count as missing.
  const { status, stdout } = spawnSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  const isListed = (library: string) => status === 0 && stdout.includes(library);
  const missing = Object.entries(neededLibraries).filter(([library]) => !isListed(library));
  if (missing.length === 0) return undefined;
  const packages = missing.map(([, name]) => name).join(' ');
  return `Chromium needs libraries of the system that are missing. Install them: apt-get install ${packages}`;
}

export async function makeBrowser(): Promise<Made> {
  const why = whyNoBrowser();
  if (why !== undefined) throw new Error(why);
  const directory = makeTemporaryDirectory();
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const given = process.env['BROWSER_PATH'];
    const executablePath = given ?? (await unpack(directory));
    const server = await chromium.launchServer({
      executablePath,
      // Pages of one file share a process: to begin another one costs as much as to draw a page.
      args: ['--renderer-process-limit=1'],
      // As root, Chromium starts only without its own sandbox.
      chromiumSandbox: process.getuid?.() !== 0,
      env: {
        ...process.env,
        TMPDIR: directory,
        // In another locale, such as C, Chromium's language is none that Intl knows.
        LANG: 'en_US.UTF-8',
        ...(given === undefined && ownFonts(directory)),
      },
    });
    return {
      told: { endpoint: server.wsEndpoint() },
      end: async () => {
        await server.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** In a process of its own: the package unpacks into the temporary directory of its process, under names that are always the same. */
async function unpack(directory: string): Promise<string> {
  const script = 'import(process.argv[1]).then(({ default: chromium }) => chromium.executablePath())';
  const packaged = require.resolve('@sparticuz/chromium');
  await run(process.execPath, ['--eval', script, packaged], { env: { ...process.env, TMPDIR: directory } });
  return join(directory, 'chromium');
}

/**
 * Only the fonts that come with the browser, so that pages look the same on every machine.
 *
 * @returns settings of fontconfig, by its environment variable
 */
function ownFonts(directory: string): { FONTCONFIG_FILE: string } {
  const file = join(directory, 'fonts.conf');
  const folders = [join(directory, 'fonts', 'fonts'), join(directory, 'font-cache')] as const;
  writeFileSync(file, `<fontconfig><dir>${folders[0]}</dir><cachedir>${folders[1]}</cachedir></fontconfig>`);
  return { FONTCONFIG_FILE: file };
}
