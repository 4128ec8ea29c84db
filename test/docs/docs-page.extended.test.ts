import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { endpoints } from '../../src/http/endpoints.ts';
import { Browser } from '../console/browser.ts';
import { demoOf, ownService } from '../http/shared-service.ts';
import { queue } from '../support/downloads.ts';
import { engineOfRun } from '../support/films-and-engine-of-run.ts';
import { whyNoPython } from '../support/python.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

/**
 * Every example of `/docs`, pasted from the page as a fresh start serves it. Only the reader's key is filled in, as the page asks.
 */
const service = ownService();
const directory = temporaryDirectoryOfFile();

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const pasted = (html: string) =>
  html.replaceAll(/<[^>]+>/g, '').replaceAll(/&([\w#]+);/g, (whole, name: string) => entities[name] ?? whole);

interface Block {
  /** Undefined for what is the same in every language: a shell's, or JSON to read. */
  language: string | undefined;
  text: string;
}

let blocks: Block[];
let token: string;
beforeAll(async () => {
  const page = await (await fetch(`${service.url}/docs`)).text();
  blocks = [...page.matchAll(/<pre(?: class="(\w+)")?><code>([^]*?)<\/code>/g)].map(([, language, html = '']) => ({
    language,
    text: pasted(html).replace('rtk_…', demoOf(service).key),
  }));
  const { key } = demoOf(service);
  token = (await queue(service.url, key, { url: service.sampleUrl('bars') })).request_token;
  mkdirSync(join(directory, 'bin'));
  // The one example that needs a copy of the source.
  const command = `[ "$1 $2 $3 $4" = "run -s reeltally --" ] || exit 1\nshift 4\nexec ${process.execPath} ${root}/src/main/reeltally.js "$@"`;
  writeFileSync(join(directory, 'bin', 'npm'), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  // What a page leaves to the reader's eye is a failure here: curl says nothing of a status that is no success.
  writeFileSync(join(directory, '.curlrc'), 'fail\n');
});

const inLanguage = (language: string) =>
  blocks.filter((block) => block.language === language).map((block) => block.text);

/** @returns what it has printed @throws with that, where it fails */
async function run(program: string, words: readonly string[]): Promise<string> {
  const { PATH = '' } = process.env;
  const child = spawn(program, words, {
    cwd: directory,
    env: {
      PATH: `${directory}/bin:${PATH}`,
      HOME: directory,
      REELTALLY_KEY: demoOf(service).key,
      TOKEN: token,
      ...engineOfRun(),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [printed, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  if (code !== 0) throw new Error(`it ended with ${String(code)}:\n${words.join(' ')}\n${printed}\n${complaint}`);
  return printed;
}

const isJson = (block: string) => /^[{[]/.test(block);
const isFilm = (name: string) => statSync(join(directory, name)).size > 1_000;
const requestTokenIn = (answer: string) => /"request_token": ?"([\w-]+)"/.exec(answer)?.[1];

describe('/docs', () => {
  it("has the demo's key for its owner, who is signed in, and for nobody else", async () => {
    const { signInPath, accountId, key } = service.demo ?? {};
    const owner = new Browser(service.url);
    const greeting = await owner.get(signInPath ?? '');
    expect([greeting.status, greeting.text.includes('Welcome to Reeltally')]).toEqual([200, true]);
    await owner.post(signInPath ?? '', { account: accountId ?? '' });
    const page = await owner.get('/docs');
    expect(page.text).toContain(`export REELTALLY_KEY=<span class="reader-key">${key ?? ''}</span>`);
    expect([page.headers['cache-control'], page.headers['vary']]).toEqual(['no-store', 'Cookie']);
    const other = await new Browser(service.url).get('/docs');
    expect([other.status, other.text.includes(key ?? '')]).toEqual([200, false]);
    expect(other.headers['cache-control']).toBe('public, max-age=30');
  });
});

describe('the examples of /docs', () => {
  it('in the shell run from the first to the last in one terminal', async () => {
    const scripts = blocks.filter(({ language, text: block }) => (language ?? 'curl') === 'curl' && !isJson(block));
    const [variables, quickStart] = scripts;
    expect(variables?.text).toContain(`export REELTALLY_URL=${service.url}\n`);
    expect(variables?.text).toContain(`export VIDEO=${service.sampleUrl('bars')}\n`);
    expect(quickStart?.text).toContain('/video/download');
    expect(scripts.length).toBeGreaterThan(10 + endpoints.length);
    const mark = '\n=== the next ===\n';
    const terminal = scripts.map(({ text: block }) => block).join(`\nprintf '${mark.replaceAll('\n', '\\n')}'\n`);
    const answers = (await run('sh', ['-eu', '-c', terminal])).split(mark);
    expect(answers).toHaveLength(scripts.length);
    // What an example asks of the API is answered with success; a later one has the film.
    const failed = answers.filter((answer) => answer.includes('"success":false'));
    expect(failed).toEqual([]);
    for (const [index, { language, text: script }] of scripts.entries())
      if (language === 'curl')
        expect([script, answers[index]]).toEqual([script, expect.stringContaining('"success":true')]);
    expect(answers[1]).toContain('"status":"done"');
    for (const film of ['video.mp4', 'film.mp4', 'bars.mp4']) expect([film, isFilm(film)]).toEqual([film, true]);
    // The digest of the answer, and that of the file.
    const digests =
      answers
        .join('')
        .match(/(?:sha-256=:|^)([\w+/]{43}=)/gm)
        ?.map((one) => one.slice(-44)) ?? [];
    expect(digests).toHaveLength(2);
    expect(digests[0]).toBe(digests[1]);
  });

  const languages = [
    ['typescript', process.execPath, 'ts'],
    ...(whyNoPython() === undefined ? ([['python', 'python3', 'py']] as const) : []),
  ] as const;

  it.each(languages)('in %s are programs that run as they stand', async (language, program, ending) => {
    const programs = inLanguage(language);
    // The quick start, the retried download, and a request to each endpoint.
    expect(programs).toHaveLength(2 + endpoints.length);
    for (const [index, source] of programs.entries()) {
      const file = join(directory, `example-${String(index)}.${ending}`);
      writeFileSync(file, `${source}\n`);
      const answer = JSON.parse(await run(program, [file])) as Record<string, unknown>;
      if (index > 0) expect([source, answer]).toMatchObject([source, { success: true }]);
      else expect(answer).toMatchObject({ status: 'done' });
    }
    expect(readFileSync(join(directory, 'video.mp4')).length).toBeGreaterThan(1_000);
  });

  it('queue the retried download once, in whatever language and however often it is sent', async () => {
    const inShell = inLanguage('curl').find((block) => block.includes('--retry')) ?? '';
    const answers = [await run('sh', ['-c', inShell])];
    for (const [language, program, ending] of languages) {
      const source = inLanguage(language).find((block) => block.includes('order-1844')) ?? '';
      const file = join(directory, `retried.${ending}`);
      writeFileSync(file, `${source}\n`);
      answers.push(await run(program, [file]));
    }
    const tokens = answers.map(requestTokenIn);
    expect(tokens[0]).toBeDefined();
    expect(new Set(tokens).size).toBe(1);
  });
});
