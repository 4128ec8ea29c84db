import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';
import { demoOf, shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { listen } from '../support/listen.ts';
import { cliCommand, runInLoadedProcess, runOnTerminal, startOnTerminal } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectRefusal, expectText } from './command-line.ts';

const service = shareService();

const environment = (more: Record<string, string> = {}) => ({
  REELTALLY_KEY: demoOf(service).key,
  REELTALLY_URL: service.url,
  ...more,
});

interface Instant {
  directory: string;
  screen: string;
}

describe('download', () => {
  it('queues, waits, and saves the whole file', async () => {
    const file = join(temporaryDirectory(), 'bars.mp4');
    const words = ['download', service.sampleUrl('bars'), '-o', file, '--quality', '360'];
    const ran = await runInLoadedProcess(words, environment());
    expectText(ran, /^\S+bars\.mp4: \d+ bytes, video\/mp4\n$/);
    expect(ran.stdout).toContain(`: ${String(statSync(file).size)} bytes`);
  });

  it('finds the API through the data folder, and tells a program the token', async () => {
    const file = join(temporaryDirectory(), 'sound.m4a');
    const given = { REELTALLY_KEY: demoOf(service).key, REELTALLY_DATA: service.dataDirectory };
    const options = ['--format', 'audio', '--audio-format', 'm4a', '--out', file, '--json'];
    const ran = await runInLoadedProcess(['download', service.sampleUrl('bars'), ...options], given);
    expect(JSON.parse(ran.stdout)).toEqual({
      request_token: expect.any(String) as string,
      file,
      file_size_bytes: statSync(file).size,
      file_mime: 'audio/mp4',
    });
  });

  it('shows on a terminal how far it is, and leaves the result alone', async () => {
    const file = join(temporaryDirectory(), 'a.mp4');
    const { code, screen } = await runOnTerminal(['download', service.sampleUrl('bars'), '-o', file], environment());
    expect(code).toBe(0);
    expect(screen).toMatch(/\r\u001b\[K(queued: waiting for a free worker|claimed: |running: the worker is fetching)/);
    expect(screen.split('\r\u001b[K').at(-1)).toMatch(/^\S+a\.mp4: \d+ bytes, video\/mp4\n$/);
  });

  it('says why a download has failed, with its token, and leaves no file', async () => {
    const directory = temporaryDirectory();
    const words = ['download', service.sampleUrl('private'), '-o', join(directory, 'a.mp4')];
    const ran = await runInLoadedProcess(words, environment());
    expectRefusal(ran, /^reeltally: .+ \(private_video\); request token [\w-]+\n$/);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('says what the API refuses', async () => {
    const out = join(temporaryDirectory(), 'a.mp4');
    expectRefusal(
      await runInLoadedProcess(['download', 'https://example.com/film', '-o', out], environment()),
      /^reeltally: .+ \(unsupported_platform\)\n$/,
    );
    expectRefusal(
      await runInLoadedProcess(
        ['download', service.sampleUrl('bars'), '-o', out],
        environment({ REELTALLY_KEY: 'rtk_no' }),
      ),
      /^reeltally: .+ \(unauthorized\)\n$/,
    );
    expect(existsSync(out)).toBe(false);
  });

  it('says what is missing before anything is queued', async () => {
    const url = service.sampleUrl('bars');
    const { REELTALLY_URL } = environment();
    expectRefusal(
      await runInLoadedProcess(['download', url, '-o', 'a.mp4'], { REELTALLY_URL }),
      /^reeltally: set REELTALLY_KEY /,
    );
    const nowhere = join(temporaryDirectory(), 'none', 'a.mp4');
    expectRefusal(
      await runInLoadedProcess(['download', url, '-o', nowhere], environment()),
      / cannot be written: ENOENT/,
    );
  });

  it('charges nothing for a folder in place of a file', async () => {
    const folder = temporaryDirectory();
    const { key } = await service.openAccount('dev_100');
    const words = ['download', service.sampleUrl('bars'), '-o', folder];
    const ran = await runInLoadedProcess(words, environment({ REELTALLY_KEY: key }));
    expectRefusal(ran, /^reeltally: \S+ is a folder: name a file in it \(not_writable\)\n$/);
    expect((await call(service.url, '/credits', { key })).data).toMatchObject({ downloads: { used: 0 } });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('writes the file at the end of a link, and into a pipe', async () => {
    const directory = temporaryDirectory();
    const [link, pipe] = [join(directory, 'link.mp4'), join(directory, 'pipe')];
    mkdirSync(join(directory, 'films'));
    symlinkSync('films/whole.mp4', link);
    execFileSync('mkfifo', [pipe]);
    const into = (file: string) =>
      runInLoadedProcess(['download', service.sampleUrl('bars'), '-o', file, '--quality', '360'], environment());
    expectText(await into(link), /^\S+link\.mp4: \d+ bytes, video\/mp4\n$/);
    expect(readdirSync(join(directory, 'films'))).toEqual(['whole.mp4']);
    const [piped, ran] = await Promise.all([readFile(pipe), into(pipe)]);
    expectText(ran, /pipe: \d+ bytes, video\/mp4\n$/);
    expect(piped.equals(readFileSync(link))).toBe(true);
    expect(readdirSync(directory).sort()).toEqual(['films', 'link.mp4', 'pipe']);
  });

  it('says how a charged download that could not be saved is fetched', async () => {
    const pipe = join(temporaryDirectory(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const words = ['download', service.sampleUrl('bars'), '-o', pipe];
    const readerGoes = async () => {
      await (await open(pipe, 'r')).close();
    };
    const [ran] = await Promise.all([runInLoadedProcess(words, environment()), readerGoes()]);
    expectRefusal(ran, / broke off: EPIPE \(transfer_failed\); request token [\w-]+\. The download is charged: GET /);
    const [, path = '', token = ''] = /GET \/api\/v1(\/video\/status\?token=([\w-]+)) /.exec(ran.stderr) ?? [];
    expect(ran.stderr).toContain(`request token ${token}. `);
    const { data } = await call(service.url, path, { key: demoOf(service).key });
    expect(data['download_url']).toMatch(/^http/);
  });

  it.each([
    ['its file is begun', ({ directory }: Instant) => readdirSync(directory).length > 0],
    ['its status is shown', ({ screen }: Instant) => /queued|claimed|running/.test(screen)],
  ])('stopped by Ctrl-C when %s, says its token and leaves no file', async (what, isThere) => {
    const directory = temporaryDirectory();
    const words = ['download', service.sampleUrl('slow'), '-o', join(directory, 'a.mp4')];
    await using command = startOnTerminal([...cliCommand, ...words], environment(), 1_000);
    await waitFor(() => isThere({ directory, screen: command.screen() }), { what, pollMs: 1 });
    command.type('\u0003');
    expect(await command.code).toBe(1);
    expect(readdirSync(directory)).toEqual([]);
    const said = / \(interrupted\); request token ([\w-]+)\. The download is charged: GET /;
    const [, token = ''] = said.exec(command.screen()) ?? [];
    expect((await call(service.url, `/video/status?token=${token}`, { key: demoOf(service).key })).status).toBe(200);
  });

  it('whose requests nobody answers names the key with which it is charged once', async () => {
    const { key } = await service.openAccount('dev_100');
    // Takes each request to the API, and loses the answer.
    const losing = createServer((request, response) => {
      void text(request)
        .then((body) =>
          call(service.url, '/video/download', {
            key,
            body,
            headers: { 'idempotency-key': String(request.headers['idempotency-key']) },
          }),
        )
        .finally(() => response.destroy());
    });
    await using listening = await listen(losing);
    const words = [
      'download',
      service.sampleUrl('bars'),
      '-o',
      join(temporaryDirectory(), 'a.mp4'),
      '--quality',
      '360',
    ];
    const lost = { REELTALLY_KEY: key, REELTALLY_URL: `http://127.0.0.1:${String(listening.port)}` };
    const ran = await runInLoadedProcess(words, environment(lost));
    expectRefusal(ran, / \(unreachable\)\. The download may be charged: the same command with --idempotency-key \S+ /);
    const [, named = ''] = /--idempotency-key (\S+)/.exec(ran.stderr) ?? [];
    expectText(
      await runInLoadedProcess([...words, '--idempotency-key', named], environment({ REELTALLY_KEY: key })),
      /a\.mp4: \d+ bytes/,
    );
    expect((await call(service.url, '/credits', { key })).data).toMatchObject({ downloads: { used: 1 } });
  });

  it('goes on trying while the API is away, and then says so', async () => {
    const url = `http://127.0.0.1:${String(await freePort())}`;
    const out = join(temporaryDirectory(), 'a.mp4');
    const words = ['download', service.sampleUrl('bars'), '-o', out];
    const away = `the API does not answer: ECONNREFUSED at ${new URL(url).host}`;
    const [ran, shown] = await Promise.all([
      runInLoadedProcess(words, environment({ REELTALLY_URL: url })),
      runOnTerminal(words, environment({ REELTALLY_URL: url })),
    ]);
    expectRefusal(ran, new RegExp(`^reeltally: ${away} \\(unreachable\\)\n$`));
    // Meanwhile, a person sees what the command waits for.
    expect(shown.screen).toContain(`\r\u001b[Kwaiting 2 s: ${away}`);
  });
});
