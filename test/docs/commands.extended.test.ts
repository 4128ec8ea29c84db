import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiClient } from '../support/client.ts';
import { runLoaded } from '../support/command-process.ts';
import { ended, queue } from '../support/downloads.ts';
import { engineOfRun } from '../support/films-and-engine-of-run.ts';
import { type Environment, runInLoadedProcess, type Service, startService } from '../support/service.ts';
import { makeDataDirectory } from '../support/temporary-directory.ts';
import { codeBlocks, pages } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';

/**
 * Every command of the README and the docs is run as it stands there, block by block and page by page, against a service that
 * really runs. The opening line of a block says otherwise where it must: `sh no-run` with the reason, or `sh stopped` for what is
 * done while the service is stopped; it is started again afterwards.
 */
const commandBlocks = (page: string) => shellBlocks(page).filter(({ mark }) => !mark.startsWith('no-run'));
const shellBlocks = (page: string) => codeBlocks(page).filter(({ language }) => language === 'sh');

const sender = fileURLToPath(new URL('send-command.ts', import.meta.url));
/**
 * `npm run -s reeltally --`, done by a process that has the command line loaded: npm and a process of its own take longer than
 * most commands. One page is run by npm itself.
 */
const shortNpm = (socket: string) => `#!/bin/sh
[ "$1 $2 $3 $4" = "run -s reeltally --" ] || { echo "not our command line: npm $*" >&2; exit 1; }
shift 4
exec ${process.execPath} ${sender} ${socket} "$@"
`;

const loaded = createServer({ allowHalfOpen: true }, (connection) => {
  void text(connection)
    .then((sent) => JSON.parse(sent) as { words: string[]; environment: Environment })
    .then(({ words, environment }) => runLoaded(words, environment))
    .then((ran) => connection.end(JSON.stringify(ran)));
});

let directory: string;
let service: Service;
beforeAll(async () => {
  directory = makeDataDirectory();
  mkdirSync(join(directory, 'bin'));
  const socket = join(directory, 'commands');
  await once(loaded.listen(socket), 'listening');
  writeFileSync(join(directory, 'bin', 'npm'), shortNpm(socket), { mode: 0o755 });
  // What a page leaves to the reader's eye is a failure here: curl says nothing of a status that is no success.
  writeFileSync(join(directory, '.curlrc'), 'fail\n');
  service = await startService({ REELTALLY_DATA: join(directory, 'data') });
});
afterAll(async () => {
  loaded.close();
  await service.stop();
  rmSync(directory, { recursive: true, force: true });
});

interface Reader {
  page: string;
  key: string;
  /** What stands for the names in capitals. */
  names: Readonly<Record<string, string>>;
}

const commandLine = /^npm run -s reeltally .*$/gm;

/** An account with a key and a key to be revoked; where a page names it, a download that is done, and charged, to be waived. */
async function newReader(page: string): Promise<Reader> {
  const { accountId, key, keyId } = await service.openAccount('enterprise');
  const { data: issued } = await apiClient(service.url, key).POST('/auth/key', { body: { label: 'in use' } });
  const { data: credits } = await apiClient(service.url, key).GET('/credits');
  if (!issued || !credits) throw new Error('the account cannot be used');
  const start = credits.data.period_start;
  const dates = { '2026-11-21': start.slice(0, 10), '2026-11': start.slice(0, 7) };
  const names = { ACCOUNT: accountId, KEY_ID: keyId, TIME: new Date().toISOString(), ...dates };
  const download = { VIDEO_URL: service.sampleUrl('bars'), FILE: join(directory, 'downloaded.mp4') };
  const reader = { page, key: issued.data.key, names: { ...names, ...download } };
  const lines = commandBlocks(page).flatMap(({ text }) => text.match(commandLine) ?? []);
  if (!lines.some((line) => /\bTOKEN\b/.test(line))) return reader;
  await service.cli('accounts', 'terms', accountId, '--downloads', '0');
  const wanted = { url: service.sampleUrl('bars'), quality: '360' } as const;
  const { request_token: token } = await queue(service.url, reader.key, wanted);
  await ended(service.url, reader.key, token);
  return { ...reader, names: { ...reader.names, TOKEN: token } };
}

/** Fills in the names that stand in the lines of our own command line. */
function filledIn(script: string, names: Reader['names']): string {
  const name = /\d{4}-\d\d(?:-\d\d)?|[A-Z][A-Z_]+/g;
  return script.replaceAll(commandLine, (line) => line.replaceAll(name, (word) => names[word] ?? word));
}

/** Runs a script from the root of the project. @throws with what it printed, where it fails */
async function runScript(script: string, { page, key }: Reader): Promise<void> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn('sh', ['-eux', '-c', script], {
    cwd: root,
    env: {
      PATH: page === 'docs/platforms.md' ? PATH : `${directory}/bin:${PATH}`,
      NODE_COMPILE_CACHE,
      HOME: directory,
      FOLDER: directory,
      REELTALLY_DATA: service.dataDirectory,
      REELTALLY_URL: service.url,
      REELTALLY_KEY: key,
      URL: service.url,
      KEY: key,
      VIDEO: service.sampleUrl('bars'),
      ...engineOfRun(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the commands ended with ${String(code)}:\n${printed}`);
}

/** What follows each other in the same state of the service is one script, so that variables last. */
function scriptsOf(page: string): { stopped: boolean; script: string }[] {
  const scripts: { stopped: boolean; script: string }[] = [];
  for (const { mark, text } of commandBlocks(page)) {
    const stopped = mark === 'stopped';
    const last = scripts.at(-1);
    if (last?.stopped === stopped) last.script += `\n${text}`;
    else scripts.push({ stopped, script: text });
  }
  return scripts;
}

async function runPage(page: string): Promise<void> {
  const reader = await newReader(page);
  for (const { stopped, script } of scriptsOf(page)) {
    if (stopped) expect(await service.stop()).toBe(0);
    await runScript(filledIn(script, reader.names), reader);
    if (stopped) service = await service.restart();
  }
}

/** The names that a level of the command line's help lists. */
async function listedCommands(...words: string[]): Promise<string[]> {
  const { stdout } = await runInLoadedProcess([...words, '--help'], {});
  const names = [...(stdout.split('Commands:')[1] ?? '').matchAll(/^ {2}([\w-]+) /gm)].map(([, name = '']) => name);
  return names.filter((name) => name !== 'help');
}

it('docs/command-line.md lists every command that there is', async () => {
  const groups = (await listedCommands()).filter((name) => name !== 'serve');
  const commands = await Promise.all(
    groups.map(async (group) => {
      const names = await listedCommands(group);
      return names.length === 0 ? [group] : names.map((name) => `${group} ${name}`);
    }),
  );
  const shown = shellBlocks('docs/command-line.md').flatMap(({ text }) => [
    ...text.matchAll(/reeltally -- (\w+(?: [a-z][\w-]+)?)/g),
  ]);
  expect([...new Set(shown.map(([, command]) => command))].sort()).toEqual(commands.flat().sort());
});

describe('the commands', () => {
  it.each(pages().filter((page) => commandBlocks(page).length > 0))('of %s work as they stand', async (page) => {
    await runPage(page);
  });
});
