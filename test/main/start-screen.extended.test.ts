import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFailed } from 'vitest';
import { prepareDataDirectory } from '../support/films-and-engine-of-run.ts';
import { cliCommand, type Environment, spawnCommand, startOnTerminal } from '../support/service.ts';
import { temporaryDataDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { root } from '../tidy/source-files.ts';

/** What is left to see: a line that was begun anew is gone, and so is what only colours. */
function seen(written: string): string {
  const lines = written.split('\n').map((line) => line.split('\r\u001b[K').at(-1) ?? '');
  return lines.join('\n').replaceAll(/\u001b\[\d+m/g, '');
}

/** Numbers that differ from start to start. */
const alike = (screen: string) =>
  screen
    .replaceAll(/\d+ days old/g, 'DAYS old')
    .replaceAll(/rtk_\w+/g, 'KEY')
    .replaceAll(/sign-in\/\S+/g, 'LINK')
    .replaceAll(/(?:127\.0\.0\.1|localhost):\d+/g, 'HOST:PORT');

/** The last line to paste is there, and whatever follows it. */
const isWhole = (written: string) => /metadata\?url=[^]*\n$/.test(written);

/** Runs a line as it stands in a shell, after those that set what it uses. */
async function pasted(lines: readonly string[], environment: Environment): Promise<string> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: environment['REELTALLY_DATA'], ...environment };
  const { stdout } = await promisify(execFile)('sh', ['-euc', lines.join('\n')], { env, cwd: root });
  return stdout;
}

it('the screen of a start fits a terminal, and each of its lines works', async () => {
  const environment = { REELTALLY_DATA: join(temporaryDataDirectory(), 'data'), DEMO: 'empty' };
  await using start = startOnTerminal([...cliCommand, 'serve'], environment);
  onTestFailed(() => console.error(start.screen()));
  await waitFor(() => isWhole(start.screen()), { what: 'the screen' });
  const screen = seen(start.screen());
  const lines = screen.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(15);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  // Steps were shown, and colours; neither stays.
  expect(start.screen()).toMatch(/\r\u001b\[K.* …/);
  expect(start.screen()).toContain('\u001b[1m');
  // The name of the data folder may leave no room for all of it in one line.
  expect(screen).toMatch(/^Reeltally \d+\.\d+\.\d+ is ready on .*\sCtrl-C\s+stops\s+it\.$/m);
  expect(screen).toMatch(
    /^ {2}console +http:\S+\/console\/sign-in\/\S{27}\n {2}API +http:\S+\/api\/v1\n {2}reference +http:\S+\/docs\n {2}staff +http:\S+\/staff\/sign-in\/\S{27}\n {2}films +http:/m,
  );
  expect(screen.match(/rtk_/g)).toHaveLength(1);

  const toPaste = lines.slice(
    lines.findIndex((line) => line.includes('export ')),
    -1,
  );
  const exports = toPaste.filter((line) => line.startsWith('  export '));
  const commands = toPaste.slice(exports.length).join('\n').replaceAll('\\\n', ' ').split('\n');
  const folder = temporaryDirectory();
  await prepareDataDirectory(environment.REELTALLY_DATA);
  const [download = '', credits = '', metadata = '', ...more] = commands;
  expect(more).toEqual([]);
  expect(await pasted([...exports, credits], environment)).toMatch(/^\{"success":true,"data":\{/);
  expect(await pasted([...exports, metadata], environment)).toMatch(/"title":/);
  const file = join(folder, 'bars.mp4');
  expect(await pasted([...exports, download.replace('bars.mp4', file)], environment)).toContain(`${file}: `);
  expect(existsSync(file)).toBe(true);

  start.type('\u0003');
  expect(await start.code).toBe(0);
  expect(seen(start.screen())).toBe(`${screen.trimEnd()}\nReeltally has stopped.\n`);

  const child = spawnCommand(['serve'], environment);
  let piped = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (piped += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await waitFor(() => isWhole(piped), { what: 'the screen in a pipe' });
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  expect(alike(piped)).toBe(alike(seen(start.screen())));
});
