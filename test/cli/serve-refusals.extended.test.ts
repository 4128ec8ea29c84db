import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { unexpectedLines } from '../support/log-lines.ts';
import type { Environment } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { expectRefusal, runIn } from './command-line.ts';

const service = shareService();

async function expectNoStart(environment: Environment, message: RegExp, role = 'all'): Promise<void> {
  const ran = await runIn(environment)('serve', '--json', '--role', role);
  // What was started by then may have written log lines; the refusal is the last word, and one line.
  const lines = ran.stderr.trimEnd().split('\n');
  expectRefusal({ ...ran, stderr: lines.at(-1) ?? '' }, message);
  expect(unexpectedLines(lines.slice(0, -1).join('\n'))).toEqual([]);
}

describe('serve refuses the environment', () => {
  it('and names every variable that it cannot use, each in a line', async () => {
    // test/main/config.test.ts has a wrong value of each setting.
    const wrong = {
      PORT: 'http',
      HEALTH_PORT: '65536',
      SANDBOX: 'none',
      TRUSTED_PROXIES: '10.0.0.0/8,proxy',
      REELTALLY_SECRET: 'short',
      SMTP_URL: 'smtp://a:short@b?pool=1',
    };
    const data = join(temporaryDirectory(), 'data');
    const ran = await runIn({ REELTALLY_DATA: data, ...wrong })('serve');
    expectRefusal(ran, /^reeltally: These settings cannot be used:\n/);
    const named = ran.stderr.trimEnd().split('\n').slice(1);
    const names = named.map((line) => /^ {2}([A-Z0-9_]+)[^ ]*: .+/.exec(line)?.[1]);
    expect([...new Set(names)].sort()).toEqual(Object.keys(wrong).sort());
    // A secret is not repeated, and nothing was made.
    expect(ran.stderr).not.toContain('short');
    expect(existsSync(data)).toBe(false);
  });

  it('where the plan file is missing or cannot be used', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'plans.json');
    const environment = { REELTALLY_DATA: join(directory, 'data'), PLANS_FILE: file };
    await expectNoStart(environment, /^reeltally: PLANS_FILE: there is no file \S+plans\.json$/);
    for (const content of ['{', '{"rate_version":"1","plans":[{"plan":"a"}]}']) {
      writeFileSync(file, content);
      expectRefusal(await runIn(environment)('serve'), /^reeltally: PLANS_FILE: \S+plans\.json cannot be used:\n.+/);
    }
  });

  it('where files would lie in two places, or half of an access key is given', async () => {
    const environment = { REELTALLY_DATA: temporaryDirectory(), S3_BUCKET: 'films' };
    await expectNoStart(
      { ...environment, FILES_DIRECTORY: '/srv/films' },
      /^reeltally: S3_BUCKET, FILES_DIRECTORY: .+$/,
    );
    await expectNoStart(
      { ...environment, S3_SECRET_ACCESS_KEY: 'not to be repeated' },
      /^reeltally: S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: set both, or neither\.$/,
    );
  });

  it('where a mail server is named, but nobody that mails come from', async () => {
    const environment = { REELTALLY_DATA: temporaryDirectory(), SMTP_URL: 'smtp://user:password@127.0.0.1' };
    await expectNoStart(environment, /^reeltally: MAIL_FROM: SMTP_URL needs the sender address of mails\.$/);
  });

  it('where engines are given, but neither a secret nor a data directory to take one from', async () => {
    const environment = {
      REELTALLY_DATA: join(temporaryDirectory(), 'none'),
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      NATS_URL: 'nats://127.0.0.1:1',
    };
    await expectNoStart(environment, /^reeltally: There is neither a REELTALLY_SECRET nor a data directory /, 'worker');
  });
});

describe('a running service', () => {
  it('lets nobody else read what holds an address with its password, nor look into its folder', () => {
    const { dataDirectory } = service;
    const modeOf = (name: string) => (statSync(join(dataDirectory, name)).mode & 0o777).toString(8);
    expect(modeOf('.')).toBe('700');
    expect(['instance.json', 'secret', 'nats/password'].map(modeOf)).toEqual(Array<string>(3).fill('600'));
  });
});

it('serve tells of variables that are nearly settings, each in a line', async () => {
  const environment = { REELTALLY_DATA: join(temporaryDirectory(), 'none'), DATABSE_URL: 'postgres://u:hidden@a/b' };
  const { stderr } = await runIn(environment)('serve', '--role', 'api');
  const [line = '', refusal] = stderr.split('\n');
  expect(JSON.parse(line)).toMatchObject({
    level: 40,
    msg: 'DATABSE_URL is not a setting; did you mean DATABASE_URL?',
  });
  expect(refusal).toMatch(/^reeltally: No instance runs on /);
  expect(stderr).not.toContain('hidden');
});

describe('serve refuses beside a running service', () => {
  it('a second start on its data directory, naming the process that has it', async () => {
    const { dataDirectory, pid } = service;
    const inUse = new RegExp(
      `^reeltally: The data folder \\S+ is in use by process ${String(pid)}, which serves ${service.url}\\. Stop that process`,
    );
    await expectNoStart({ REELTALLY_DATA: dataDirectory }, inUse);
  });

  it('a port that is taken, before anything is started', async () => {
    const { port } = new URL(service.url);
    const taken = new RegExp(
      `^reeltally: Port ${port} of 127\\.0\\.0\\.1 is in use by another process\\. Set PORT to another port, or to 0 `,
    );
    const other = join(temporaryDirectory(), 'data');
    await Promise.all([
      expectNoStart({ REELTALLY_DATA: other, PORT: port }, taken),
      expectNoStart({ REELTALLY_DATA: service.dataDirectory, PORT: port }, taken, 'api'),
      expectNoStart({ REELTALLY_DATA: service.dataDirectory, HEALTH_PORT: port }, /Set HEALTH_PORT to/, 'projector'),
    ]);
    // The folder was taken, and nothing was put into it but what says so.
    expect(readdirSync(other).filter((name) => !/^(lock|holder|format)/.test(name))).toEqual([]);
  });

  it('a process with another secret', async () => {
    const environment = { REELTALLY_DATA: service.dataDirectory, REELTALLY_SECRET: 'x'.repeat(40) };
    await expectNoStart(environment, /^reeltally: The secret differs from that of the other processes/, 'api');
  });

  it('and the running one goes on', async () => {
    expect((await call(service.url, '/credits', { key: service.demo?.key ?? '' })).status).toBe(200);
    expect(existsSync(join(service.dataDirectory, 'instance.json'))).toBe(true);
  });
});
