import { chownSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { prepareDataDirectory } from '../support/films-and-engine-of-run.ts';
import { runCommand, type StartedBy, startProcess } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import {
  asPlainUser,
  dataDirectoryOf,
  openDirectory,
  openEngine,
  plainUser,
  rootWithout,
  rootWithoutBelow,
  userWithout,
  withoutProc,
} from '../support/without-namespaces.ts';
import { root } from '../tidy/source-files.ts';

/** In the environment of the service, and in its data folder. */
const secret = 'a secret that no child of the service may ever read';

/** A downloader that runs this script instead. */
function fakeDownloader(script: string): string {
  const path = join(openDirectory(), 'yt-dlp');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** Looks around, and tells what it could get at in one word. */
const lookingAround = (dataDirectory: string) => `
    PATH=/usr/bin:/bin
    can() { if "$@" > /dev/null 2>&1; then echo yes; else echo no; fi; }
    secret=$(can cat '${dataDirectory}/secret'); shadow=$(can cat /etc/shadow); data=$(can ls '${dataDirectory}/instance.json')
    write=$(can touch '${dataDirectory}/planted'); environ=$(can grep -qs '${secret}' /proc/[0-9]*/environ)
    echo "secret=$secret,shadow=$shadow,data=$data,write=$write,environ=$environ,id=$(id -u)"
  `;

const nothing = 'secret=no,shadow=no,data=no,write=no,environ=no';

interface Shown {
  sandbox: string;
  programs: { version: string | null }[];
  guards: { guard: string; state: string; detail: string }[];
}

/** What `engine show` finds, which asks the downloader for its version as a worker does: in the same sandbox. */
async function showEngine(owner: number, startedBy?: StartedBy): Promise<Shown & { found: string; planted: boolean }> {
  const dataDirectory = dataDirectoryOf(owner);
  writeFileSync(join(dataDirectory, 'secret'), secret, { mode: 0o600 });
  writeFileSync(join(dataDirectory, 'instance.json'), '{}', { mode: 0o600 });
  for (const name of ['secret', 'instance.json']) chownSync(join(dataDirectory, name), owner, owner);
  const environment = {
    REELTALLY_DATA: dataDirectory,
    REELTALLY_SECRET: secret,
    YTDLP_PATH: fakeDownloader(lookingAround(dataDirectory)),
    ...openEngine(),
  };
  const { stdout, stderr } = await runCommand(['engine', 'show', '--json'], environment, startedBy);
  if (stdout === '') throw new Error(`engine show said nothing: ${stderr}`);
  const shown = JSON.parse(stdout) as Shown;
  return { ...shown, found: shown.programs[0]?.version ?? '', planted: existsSync(join(dataDirectory, 'planted')) };
}

const failedOf = ({ guards }: Shown) => guards.filter(({ state }) => state === 'failed');
const missingOf = ({ guards }: Shown) => guards.filter(({ state }) => state === 'missing').map(({ guard }) => guard);

function guardsMissingOnMac(): string[] {
  const page = readFileSync(join(root, 'docs/containment.md'), 'utf8');
  const [, named = ''] = /^macOS has .*The guards (.*?) are missing;/m.exec(page) ?? [];
  return [...named.matchAll(/`(\w+)`/g)].map(([, guard = '']) => guard);
}

describe('a downloader that is hostile', () => {
  beforeAll(() => {
    // Loudly, and not left out: a machine on which this cannot be shown shows nothing.
    if (process.getuid?.() !== 0) throw new Error('Other users and other machines can be played by root alone.');
  });

  test('gets at nothing from namespaces in which the worker’s root does not run it', async () => {
    const shown = await showEngine(0);
    expect(shown).toMatchObject({ sandbox: 'namespaces', planted: false });
    const [found = '', id = ''] = shown.found.split(',id=');
    expect(found).toBe(nothing);
    expect(Number(id)).toBeGreaterThanOrEqual(60_880);
    expect(failedOf(shown)).toEqual([]);
    expect(missingOf(shown)).toEqual([]);
  });

  test('gets at nothing from the namespaces of a plain user', async () => {
    const shown = await showEngine(plainUser, asPlainUser);
    expect(shown).toMatchObject({ sandbox: 'namespaces', found: `${nothing},id=0`, planted: false });
    expect(failedOf(shown)).toEqual([]);
    expect(missingOf(shown)).toEqual([]);
  });

  test('gets at nothing where there are no namespaces, because it is not root', async () => {
    const shown = await showEngine(0, rootWithout);
    expect(shown).toMatchObject({ sandbox: 'another user', planted: false });
    const [found = '', id = ''] = shown.found.split(',id=');
    expect(found).toBe(nothing);
    expect(Number(id)).toBeGreaterThanOrEqual(60_880);
    expect(failedOf(shown)).toEqual([]);
    expect(missingOf(shown)).toEqual(['network']);
  });

  test('gets at all that is the service’s where nothing holds it, which engine show says', async () => {
    const shown = await showEngine(plainUser, userWithout);
    const found = `secret=yes,shadow=no,data=yes,write=yes,environ=yes,id=${plainUser}`;
    expect(shown).toMatchObject({ sandbox: 'weak', found, planted: true });
  });

  test('is as little held on macOS as the page on it says, and root cannot change that', async () => {
    const shown = await showEngine(0, withoutProc);
    expect(shown).toMatchObject({ sandbox: 'weak', planted: true });
    expect(failedOf(shown)).toEqual([]);
    expect(missingOf(shown)).toEqual(guardsMissingOnMac());
  });

  test('is not started where a plain user has no namespaces, and the refusal names the mend', async () => {
    const dataDirectory = dataDirectoryOf(plainUser);
    const ran = await runCommand(
      ['serve', '--role', 'all', '--json'],
      {
        REELTALLY_DATA: dataDirectory,
        DEMO: '0',
        ...openEngine(),
        YTDLP_PATH: fakeDownloader(`touch '${dataDirectory}/started'`),
      },
      userWithout,
    );
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/No downloads are taken: .*secret/);
    expect(ran.stderr).toMatch(/Allow user namespaces, or start the worker as root .*SANDBOX=weak/);
    expect(existsSync(join(dataDirectory, 'started'))).toBe(false);
  });
});

/** Beside what the start says of an engine that is old. */
const noticesOfSandbox = ({ notices }: { notices: readonly string[] }) =>
  notices.filter((notice) => /sandbox/i.test(notice));

describe('without namespaces', () => {
  test('root installs below a folder of its own, keeps data in another, and downloads all the same', async () => {
    const dataDirectory = dataDirectoryOf(0);
    const startedBy = rootWithoutBelow(temporaryDirectory());
    const environment = { REELTALLY_DATA: dataDirectory, DEMO: 'empty', ...openEngine() };
    await using service = await startProcess('all', environment, startedBy);
    await prepareDataDirectory(dataDirectory);
    const key = service.demo?.key ?? '';
    const film = { url: `${service.samplePlatformUrl ?? ''}/watch/bars`, quality: '720' } as const;
    const { request_token: token } = await queue(service.url, key, film);
    const status = await ended(service.url, key, token);
    expect({ status, log: service.log() }).toMatchObject({ status: { status: 'done' } });
    const file = await fetch('download_url' in status ? status.download_url : '');
    expect(file.status).toBe(200);
    expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
    expect(noticesOfSandbox(service)).toEqual([]);
    const kept = readdirSync(join(dataDirectory, 'files'), { recursive: true, withFileTypes: true });
    const files = kept.filter((entry) => entry.isFile()).map((entry) => statSync(join(entry.parentPath, entry.name)));
    // The film, and perhaps the note of the signed log beside it.
    expect(new Set(files.map(({ uid, gid, mode }) => [uid, gid, mode.toString(8)].join()))).toEqual(
      new Set(['0,0,100600']),
    );
  });

  test('a demo that only this machine reaches starts for a plain user too, and says that it is weak', async () => {
    const environment = { REELTALLY_DATA: dataDirectoryOf(plainUser), DEMO: 'empty' };
    await using service = await startProcess('all', { ...environment, ...openEngine() }, userWithout);
    expect(noticesOfSandbox(service)).toEqual([expect.stringMatching(/^Weak sandbox: .{1,66}$/)]);
  });
});
