import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isLongProof } from '../support/proof-scale.ts';
import { cliCommand, type OnTerminal, spawnCommand, startOnTerminal } from '../support/service.ts';
import { temporaryDataDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/** A trial of the sandbox that is under way ends by itself, a moment after the process that began it. */
const nothingLeftOn = (directory: string, instant: string) =>
  waitFor(() => processesOn(directory).length === 0, { what: `no process to be left after ${instant}` });

/** Whatever still runs on a data folder. */
function processesOn(directory: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const isOn = command.includes(directory) || readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
        return isOn ? [command] : [];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

const step = (shown: string) => (screen: string) => screen.includes(shown);

/** The rest of its line begins another one where the data folder has a long name. */
const isReady = step('is ready on');

/** Says so once the terminal is its own: what is typed before would interrupt nobody. */
const begun = ['sh', '-c', 'echo begun; exec "$@"', 'sh'];

/** On one folder, one after the other: each leaves it so that the next start gets further. */
const everyInstant: [string, (screen: string) => boolean][] = [
  ['at once', step('begun')],
  ['a database is made', step('Making a new Postgres database')],
  ['the event store is ready', step('event store is ready')],
  ['Postgres starts', step('Starting Postgres')],
  ['the service connects', step('Postgres is ready')],
  ['the story of the demo is told', step('telling the story of the demo: 2')],
  ['the worker is ready', step('worker is ready')],
  ['the dispatcher is ready', step('dispatcher is ready')],
  ['the projector is ready', step('projector is ready')],
  ['the API is ready', step('api is ready')],
  ['all is ready', isReady],
];

const someInstants = [
  'at once',
  'a database is made',
  'Postgres starts',
  'the story of the demo is told',
  'all is ready',
];
const instants = everyInstant.filter(([instant]) => isLongProof || someInstants.includes(instant));

async function endOf(start: OnTerminal, instant: string): Promise<number | null> {
  let hasEnded = false;
  void start.code.then(() => (hasEnded = true));
  await waitFor(() => hasEnded, { what: `the end after Ctrl-C: ${instant}` });
  return await start.code;
}

describe('Ctrl-C on a terminal', () => {
  it('ends a start cleanly whenever it comes, and lets the next one go on', async () => {
    const directory = join(temporaryDataDirectory(), 'data');
    const environment = { REELTALLY_DATA: directory };
    for (const [instant, isThere] of instants) {
      await using start = startOnTerminal([...begun, ...cliCommand, 'serve'], environment);
      await waitFor(() => isThere(start.screen()), { what: instant, pollMs: 1 });
      const before = start.screen().length;
      start.type('\u0003');
      const code = await endOf(start, instant);
      const after = start.screen().slice(before);
      expect({ instant, code }).toEqual({ instant, code: expect.toBeOneOf([0, 130]) as number });
      // Neither log lines nor a stack.
      expect({ instant, after }).toEqual({
        instant,
        after: expect.not.stringMatching(/^\s+at |error|warn|\{"level"/m) as string,
      });
      await nothingLeftOn(directory, instant);
    }
  });

  it('through npm, too, which passes the signal on', async () => {
    const fresh = join(temporaryDataDirectory(), 'data');
    await using start = startOnTerminal(['npm', 'start'], { REELTALLY_DATA: fresh });
    await waitFor(() => start.screen().includes('Making a new'), { what: 'the start', pollMs: 1 });
    start.type('\u0003');
    await start.code;
    expect(start.screen()).toContain('Reeltally has stopped.');
    await nothingLeftOn(fresh, 'a start through npm');
  });
});

it('the same Ctrl-C twice, from the terminal and from npm, still ends it in order', async () => {
  const directory = join(temporaryDataDirectory(), 'data');
  const child = spawnCommand(['serve'], { REELTALLY_DATA: directory, DEMO: 'empty' });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
  const ended = once(child, 'close') as Promise<[number | null]>;
  await waitFor(() => isReady(screen), { what: 'the start' });
  child.kill('SIGINT');
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
  expect(screen).toContain('Reeltally has stopped.');
  await nothingLeftOn(directory, 'Ctrl-C twice');
});
