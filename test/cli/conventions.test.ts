import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spawnCommand } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runIn, within } from './command-line.ts';

/** What programs of a command line have in common, and scripts count on. No service runs. */
const environment = { REELTALLY_DATA: join('/nonexistent', 'data') };
const run = within(environment);

const version = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as { version: string }
).version;

describe('the command line', () => {
  it('says its version', async () => {
    expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('ends silently when nobody reads on, as SIGPIPE would end it', async () => {
    const child = spawnCommand(['urls', 'explain', 'https://youtu.be/aqz-KE-bpKQ'], {});
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.destroy();
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
  });

  it.each(['help ledger waive', 'ledger waive --help'])('explains a command: %s', async (words) => {
    const { code, stdout, stderr } = await run(...words.split(' '));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(
      'Usage: reeltally ledger waive [options] --reason <text> --reference <reference> --by <name> [tokens...]\n',
    );
    expect(stdout).toMatch(/--reason <text> +reason for giving it back \(required\)\n/);
    expect(stdout).toMatch(/--failed +instead of tokens: .*(?<!\(required\))\n/);
  });

  it('says that there is no such command', async () => {
    const helped = await run('help', 'ledger', 'wave');
    expect({ code: helped.code, stdout: helped.stdout }).toEqual({ code: 1, stdout: '' });
    expect(helped.stderr).toContain("error: unknown command 'ledger wave'");
    // As a process of its own, which ends with this code too.
    const ran = await runIn(environment)('wave');
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 1, stdout: '' });
    expect(ran.stderr).toContain("error: unknown command 'wave'");
  });

  it.each([
    [
      'accounts show acc_1',
      'usage',
      /^command-argument value 'acc_1' is invalid .* an account id is acc_ and 16 to 32 lower-case letters and digits/,
    ],
    ['accounts open --plan sandbox', 'usage', /^required option '--email <address>' not specified$/],
    ['nonsense', 'usage', /^unknown command 'nonsense'$/],
    ['', 'usage', /^name a command/],
    [`jobs show ${'x'.repeat(32)}`, 'settings', /^No instance runs on /],
  ])('with --json says in JSON what is wrong, and nothing else: %s', async (words, code, message) => {
    const ran = await run(...words.split(' ').filter((word) => word !== ''), '--json');
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code: 1, stdout: '' });
    expect(JSON.parse(ran.stderr)).toEqual({ error: { code, message: expect.stringMatching(message) as string } });
  });

  it('says in words why the service does not start, beside its log', async () => {
    const folder = temporaryDirectory();
    const ran = await runIn({ REELTALLY_DATA: folder, PORT: 'http' })('serve', '--json');
    expect(ran.stderr).toMatch(/^reeltally: /);
  });
});
