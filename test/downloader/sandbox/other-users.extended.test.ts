import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import { processesOf } from '../../../src/downloader/sandbox/resource-use.ts';
import { runSandboxed, type SandboxedProcess } from '../../../src/downloader/sandbox/run-sandboxed.ts';
import { openUsers, type Users } from '../../../src/downloader/sandbox/users.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { openDirectory } from '../../support/without-namespaces.ts';
import { attemptIn } from './attempt-folder.ts';

/** Without namespaces, as in most containers: each attempt as a user that nobody is. */
let users: Users;
beforeAll(() => {
  const opened = openUsers();
  if (opened === undefined) throw new Error('Only root can start children of other users: run this test as root.');
  users = opened;
});

const setpriv = '/usr/bin/setpriv';
const forever = 'while :; do sleep 0.2; done';

/** Runs a shell script in an attempt's directory, as that attempt's user. */
async function run(directory: string, script: string, more: Partial<SandboxedProcess> = {}) {
  const reaper = startReaper();
  const lines: string[] = [];
  const result = await runSandboxed({
    command: '/bin/sh',
    arguments: ['-c', script],
    directory,
    searchPath: ['/usr/bin', '/bin'],
    timeoutMs: patienceMs,
    signal: new AbortController().signal,
    maxOutputBytes: 100_000,
    reaper,
    onLine: (line) => lines.push(line),
    namespaces: { users, setpriv },
    ...more,
  });
  reaper.close();
  return { ...result, lines };
}

describe('children of other users', () => {
  test('have one user and one group each, which no account has, and keep them for the attempt', async () => {
    const directory = openDirectory();
    const [one, other] = ['one', 'other'].map((name) => attemptIn(directory, name)) as [string, string];
    const idsOf = async (attempt: string) => (await run(attempt, 'id -u; id -G')).lines.join(' ');
    const [first, second, again] = [await idsOf(one), await idsOf(other), await idsOf(one)];
    const [uid = '', groups] = first.split(' ');
    expect(groups).toBe(uid);
    expect(second).not.toBe(first);
    expect(again).toBe(first);
    for (const file of ['/etc/passwd', '/etc/group']) expect(readFileSync(file, 'utf8')).not.toContain(`:${uid}:`);
    expect(statSync(one)).toMatchObject({ uid: Number(uid), gid: Number(uid) });
  });

  test('of two workers have different users, also where neither runs a child at the moment', async () => {
    const directory = openDirectory();
    const begin = 77;
    const userOf = async (worker: string) => openUsers(begin)?.of(attemptIn(directory, worker));
    const [one, other] = await Promise.all([userOf('one'), userOf('other')]);
    expect(other?.uid).not.toBe(one?.uid);
  });

  test('cannot signal, read or look into one another', async () => {
    const directory = openDirectory();
    const victim = attemptIn(directory, 'victim');
    const stop = new AbortController();
    const running = run(victim, `echo $$ > pid; ${forever}`, {
      signal: stop.signal,
      environment: { TOKEN: 'private' },
    });
    const written = join(victim, 'pid');
    const pid = await waitFor(() => (existsSync(written) && Number(readFileSync(written, 'utf8'))) || undefined, {
      what: 'the victim to run',
    });
    const script = `kill -9 ${String(pid)} && echo killed; cat /proc/${String(pid)}/environ && echo read; ls ${victim} && echo seen`;
    const { lines } = await run(attemptIn(directory, 'attacker'), script);
    expect({ lines, lives: processesOf(statSync(victim).uid).includes(pid) }).toEqual({ lines: [], lives: true });
    stop.abort();
    expect((await running).ending).toBe('aborted');
  });

  test('leave nothing that runs, though it has neither their session, their environment nor their limits', async () => {
    const attempt = attemptIn(openDirectory(), 'attempt');
    const hidden = `setsid env -i PATH="$PATH" sh -c 'ulimit -x unlimited; trap "" TERM; ${forever}' > /dev/null 2>&1 &`;
    await run(attempt, `(${hidden}) & sleep 0.3; exit 0`);
    expect(processesOf(statSync(attempt).uid)).toEqual([]);
  });

  test('count together for their memory, also what has left the group', async () => {
    const attempt = attemptIn(openDirectory(), 'attempt');
    // `tail` holds all of its bytes while nobody reads its output.
    const hold = "(setsid sh -c 'head -c 90000000 /dev/zero | tail -c 90000000 | sleep 60' > /dev/null 2>&1 &)";
    const { ending } = await run(attempt, `${hold}; ${hold}; ${hold}; ${forever}`, {
      maxMemoryBytes: 200_000_000,
      timeoutMs: patienceMs,
    });
    expect(ending).toBe('memory_full');
  });

  test('end with the service, though it is killed', async () => {
    const attempt = attemptIn(openDirectory(), 'attempt');
    const source = (name: string) =>
      JSON.stringify(new URL(`../../../src/downloader/sandbox/${name}.ts`, import.meta.url).href);
    const service = `
      const { runSandboxed } = await import(${source('run-sandboxed')});
      const { startReaper } = await import(${source('child-reaper')});
      const { openUsers } = await import(${source('users')});
      await runSandboxed({
        command: '/bin/sh', arguments: ['-c', process.argv[2]], directory: process.argv[1], searchPath: ['/usr/bin', '/bin'],
        timeoutMs: 60000, signal: new AbortController().signal, maxOutputBytes: 1000, onLine: console.log,
        reaper: startReaper(), namespaces: { users: openUsers() },
      });`;
    const hidden = `setsid env -i PATH="$PATH" sh -c 'trap "" TERM; echo hidden; ${forever}' & ${forever}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', service, attempt, hidden], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(processesOf(statSync(attempt).uid).length).toBeGreaterThan(1);
    child.kill('SIGKILL');
    await waitFor(() => processesOf(statSync(attempt).uid).length === 0, { what: 'their end' });
  });

  test('gain nothing by a program that changes the user', async () => {
    const directory = openDirectory();
    const program = join(directory, 'id');
    copyFileSync('/usr/bin/id', program);
    chmodSync(program, 0o4755);
    const { lines } = await run(attemptIn(directory, 'attempt'), `${program} -u`);
    expect(Number(lines[0])).toBeGreaterThan(1_000);
  });

  test('are given nothing by another name: only the fresh folder of an attempt changes hands', async () => {
    const directory = openDirectory();
    const outside = join(directory, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'file'), 'ours', { mode: 0o600 });
    const attempt = attemptIn(directory, 'attempt');
    await run(
      attempt,
      `rm -rf home tmp; ln -s ${outside} home; ln -s ${outside}/file link; ln ${outside}/file hard; true`,
    );
    await run(attempt, 'true');
    const owners = [outside, join(outside, 'file')].map((path) => lstatSync(path).uid);
    expect(owners).toEqual([0, 0]);
    expect(readdirSync(outside)).toEqual(['file']);
  });
});
