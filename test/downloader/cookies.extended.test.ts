import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cookiesOfHosts } from '../../src/downloader/cookies.ts';
import { readPrivateText } from '../../src/system/private-files.ts';
import { listPids, readProcessFile } from '../../src/system/processes.ts';
import { listen, type Listening } from '../support/listen.ts';
import { downloadFrom, startTestPlatform, type TestPlatform } from '../support/sample-platform.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cookie } from './cookie-line.ts';

describe('an attempt with cookies', () => {
  const secret = 's3cret-of-the-session';
  const seen: { cookie: string | undefined; copies: { path: string; mode: number; uid: number }[]; shown: string[] }[] =
    [];
  let site: Listening;
  let platform: TestPlatform;
  let folders: string[] = [];

  /** Every copy of the cookies that a folder of an attempt holds at this moment. */
  const copies = () =>
    folders
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
      .filter((path) => path.endsWith('cookies.txt'))
      .map((path) => ({ path, mode: statSync(path).mode & 0o777, uid: statSync(path).uid }));

  const server = createServer((request: IncomingMessage, response) => {
    const shown = listPids().filter((pid) =>
      ['cmdline', 'environ'].some((file) => pid !== process.pid && readProcessFile(pid, file)?.includes(secret)),
    );
    seen.push({ cookie: request.headers.cookie, copies: copies(), shown: shown.map(String) });
    response.setHeader('Set-Cookie', 'session=renewed-by-the-platform; Max-Age=1000000');
    response.end(JSON.stringify({ title: 'A film', durationSeconds: 10, refusal: 'Only for members' }));
  });

  beforeAll(async () => {
    site = await listen(server);
    platform = await startTestPlatform([`http://127.0.0.1:${String(site.port)}`]);
  });
  afterAll(async () => {
    await platform.close();
    await site.close();
  });

  const video = () => ({
    platform: 'sample',
    videoId: 'film',
    canonicalUrl: `http://127.0.0.1:${String(site.port)}/watch/film`,
  });

  it('shows them to the platform alone, in a copy of its own that goes with it', async () => {
    const file = join(temporaryDirectory(), 'cookies.txt');
    const text = `# Netscape HTTP Cookie File\n${cookie('127.0.0.1', 'session', secret)}\n${cookie('.vimeo.com', 'other', 'of-vimeo')}\n`;
    writeFileSync(file, text, { mode: 0o600 });
    const asked: string[] = [];
    const source = platform.source(
      {},
      {
        cookiesOf: (name) => {
          asked.push(name);
          return cookiesOfHosts(readPrivateText(file), ['127.0.0.1']);
        },
      },
    );
    const directory = temporaryDirectory();
    folders = [directory, join(platform.directory, 'work')];
    const ended = [
      await downloadFrom(source, video(), {}, directory),
      await source.probe(video(), { signal: new AbortController().signal }),
    ];
    expect(asked).toEqual(['sample', 'sample']);
    expect(seen.map((each) => [each.cookie, each.shown])).toEqual([
      [`session=${secret}`, []],
      [`session=${secret}`, []],
    ]);
    expect(seen.flatMap((each) => each.copies.map(({ mode }) => mode))).toEqual([0o600, 0o600]);
    const uids = seen.flatMap((each) => each.copies.map(({ uid }) => uid));
    if (process.getuid?.() === 0 && platform.canFork) expect(uids).not.toContain(0);
    // The engine wrote what the platform had set into its copy, and nothing is left of that.
    expect(copies()).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(JSON.stringify(ended)).not.toContain(secret);
  });

  it('whose cookies cannot be read asks the platform nothing, and is the fault of the service', async () => {
    const file = join(temporaryDirectory(), 'cookies.txt');
    writeFileSync(file, secret, { mode: 0o600 });
    chmodSync(file, 0o644);
    const before = seen.length;
    const source = platform.source({}, { cookiesOf: () => readPrivateText(file) });
    const result = await downloadFrom(source, video());
    expect(result).toMatchObject({ ok: false, reason: 'internal_error', fault: 'service' });
    expect(result).toMatchObject({ detail: expect.stringContaining('chmod 600') as string });
    expect(seen).toHaveLength(before);
  });
});
