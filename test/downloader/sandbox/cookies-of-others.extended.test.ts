import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withCookies } from '../../../src/downloader/cookies.ts';
import type { Namespaces } from '../../../src/downloader/sandbox/launch.ts';
import { runSandboxed } from '../../../src/downloader/sandbox/run-sandboxed.ts';
import { openUsers } from '../../../src/downloader/sandbox/users.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { openDirectory } from '../../support/without-namespaces.ts';
import { sandboxOfFile } from '../sandbox-of-file.ts';
import { attemptIn } from './attempt-folder.ts';
import { startTestParent } from './parent-under-test.ts';

const { directory: ownDirectory, reaper, sandbox } = sandboxOfFile();
const setpriv = '/usr/bin/setpriv';
const secret = 's3cret-of-another-platform';

/** Has its cookies wherever a process may have them; command lines, which all users may read, never show them (`cookies.test.ts`). */
const holder = 'exec 9< cookies.txt; export COOKIES="$(cat cookies.txt)"; sh -c "echo ready; sleep 600"';
/** Looks for them by the path that it is given, and in what it sees of other processes. Prints the ways on which it found them. */
const thief = `
  found() { grep -aq 's3cre[t]-of-another' && echo "$1"; }
  echo looked
  cat "$1" | found path
  ln "$1" link && cat link | found link
  cat /proc/[0-9]*/root"$1" | found root
  cat /proc/[0-9]*/cwd/cookies.txt | found cwd
  cat /proc/[0-9]*/environ | found environ
  for file in /proc/[0-9]*/fd/9; do [ -f "$file" ] && head -c 1000 "$file" | found descriptor; done`;
const ways = ['path', 'link', 'root', 'cwd', 'environ', 'descriptor'];

type Place = { directory: string } & Partial<Parameters<typeof runSandboxed>[0]>;

const runIn = (words: readonly string[], namespaces: Namespaces, place: Place) =>
  runSandboxed({
    command: '/bin/sh',
    arguments: ['-c', ...words],
    searchPath: ['/usr/bin', '/bin'],
    reaper,
    namespaces,
    timeoutMs: patienceMs,
    signal: new AbortController().signal,
    maxOutputBytes: 20_000_000,
    onLine: () => undefined,
    ...place,
  });

/** Runs a thief while an attempt of another platform holds its cookies. @returns what it prints, each line once */
async function steal(
  directory: string,
  namespaces: Namespaces,
  runThief: (cookiesPath: string, place: Place) => Promise<unknown>,
): Promise<string[]> {
  const attempt = attemptIn(directory, 'with-cookies');
  const ended = new AbortController();
  const isReady = Promise.withResolvers<string>();
  const held = withCookies(secret, attempt, () =>
    runIn([holder], namespaces, { directory: attempt, signal: ended.signal, onLine: isReady.resolve }),
  );
  expect(await Promise.race([isReady.promise, held])).toBe('ready');
  const lines = new Set<string>();
  await runThief(join(attempt, 'cookies.txt'), {
    directory: attemptIn(directory, 'thief'),
    // The engine tells of itself besides.
    onLine: (line) => !line.startsWith('[') && lines.add(line),
  });
  ended.abort();
  expect((await held).ending).toBe('aborted');
  return [...lines];
}

test('a child in namespaces finds none of another platform’s cookies', async ({ skip }) => {
  const { namespaces, missing } = sandbox();
  if (missing.length > 0) return skip('this machine allows no namespaces');
  const directory = attemptIn(ownDirectory, 'started');
  const found = await steal(directory, namespaces, (path, place) => runIn([thief, 'sh', path], namespaces, place));
  expect(found).toEqual(['looked']);
});

test('nor does one that was forked', async ({ skip }) => {
  await using warm = await startTestParent(ownDirectory);
  if (warm === undefined) return skip('children are not forked here');
  const directory = attemptIn(ownDirectory, 'forked');
  const { namespaces } = sandbox();
  const found = await steal(directory, namespaces, (path, place) => warm.run('script', [thief, 'sh', path], place));
  expect(found).toEqual(['looked']);
});

test('nor does one of another user, without namespaces', async ({ skip }) => {
  const users = openUsers();
  if (users === undefined) return skip('only root can start children of other users');
  const namespaces = { users, setpriv };
  const found = await steal(openDirectory(), namespaces, (path, place) =>
    runIn([thief, 'sh', path], namespaces, place),
  );
  expect(found).toEqual(['looked']);
});

test('one that nothing keeps apart finds them in each way: a worker with cookies does not start there', async () => {
  const found = await steal(openDirectory(), {}, (path, place) => runIn([thief, 'sh', path], {}, place));
  expect(found.toSorted()).toEqual(['looked', ...ways].toSorted());
});
