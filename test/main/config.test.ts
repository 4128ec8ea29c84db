import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readNatsAddress } from '../../src/adapters/nats/address.ts';
import { environment, readConfig } from '../../src/main/settings/config.ts';
import { ConfigurationRefused } from '../../src/main/settings/configuration-refused.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';

const read = (EVENTSTORE_URL: string) => readConfig({ EVENTSTORE_URL }).EVENTSTORE_URL;

function refusalOf(variables: Record<string, string>): string {
  try {
    readConfig(variables);
  } catch (error) {
    if (error instanceof ConfigurationRefused) return error.message;
    throw error;
  }
  throw new Error(`${JSON.stringify(variables)} was taken`);
}

const faultsOf = (variables: Record<string, string>) => refusalOf(variables).split('\n').slice(1);

describe('EVENTSTORE_URL', () => {
  it.each([
    'esdb://127.0.0.1:2113?tls=false',
    'esdb://a:2113,b:2113,c:2113?tls=true&nodePreference=leader',
    'esdb://admin:p%40ss@a:2113,b:2114,c:2115?tlsCAFile=/etc/ca.pem',
    'esdb://a,b,c',
    'esdb+discover://events.internal?tls=true',
    'esdb+discover://user:password@events.internal:2113/?keepAliveInterval=10000',
  ])('takes %s as the client does', (address) => {
    expect(read(address)).toBe(address);
  });

  it.each([
    ['kurrentdb://a:2113?tls=true', 'esdb://a:2113?tls=true'],
    ['kurrentdb+discover://user:password@events.internal', 'esdb+discover://user:password@events.internal'],
  ])('takes %s, as newer servers print it, as %s', (address, taken) => {
    expect(read(address)).toBe(taken);
  });

  it.each([
    ['another protocol', 'http://user:hidden@127.0.0.1:2113'],
    ['a protocol that the client does not know', 'eventstore://user:hidden@127.0.0.1:2113'],
    ['no host', 'esdb://'],
    ['a port that is none', 'esdb://user:hidden@a:2113,b:hidden'],
    ['an option without a value', 'esdb://user:hidden@a:2113?tls'],
    ['an option with a wrong value', 'esdb://user:hidden@a:2113?tls=hidden'],
    ['a password that cannot be decoded', 'esdb://user:hidden%zz@a:2113'],
  ])('refuses %s in one line that repeats nothing of it', (_, address) => {
    const lines = refusalOf({ EVENTSTORE_URL: address }).split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^ {2}EVENTSTORE_URL: must be an address such as esdb:\/\/host:2113\?tls=true, /);
    expect(lines[1]).not.toContain('hidden');
  });

  it('leaves out what the client ignores, whose warnings repeat the whole address', () => {
    using warn = vi.spyOn(console, 'warn').mockReturnValue(undefined);
    expect(read('esdb://user:hidden@a:2113?colour=red&tls=true&tlsVerifyCert=false')).toBe(
      'esdb://user:hidden@a:2113?tls=true',
    );
    expect(warn.mock.calls.join('\n')).toContain('colour');
    expect(warn.mock.calls.join('\n')).not.toContain('hidden');
  });
});

describe('NATS_URL', () => {
  const [user, servers] = [{ user: 'user', pass: 'p@ss' }, ['a:4222', 'b:4222', 'c:4222']];

  it.each([
    ['nats://127.0.0.1:4222', { servers: ['127.0.0.1:4222'], credentials: undefined, tls: undefined }],
    ['nats://user:p%40ss@a:4222,b:4222,c:4222', { servers, credentials: user, tls: undefined }],
    ['nats://secret@[::1]:4222/', { servers: ['[::1]:4222'], credentials: { token: 'secret' }, tls: undefined }],
    ['tls://user:p@ss@nats', { servers: ['nats'], credentials: user, tls: {} }],
    ['tls://a:4222,b:4222,c:4222?tlsCAFile=/etc/ca.crt', { servers, tls: { caFile: '/etc/ca.crt' } }],
  ])('takes %s', (address, read) => {
    expect(readConfig({ NATS_URL: address }).NATS_URL).toBe(address);
    expect(readNatsAddress(address)).toMatchObject(read);
  });

  it.each([
    ['another protocol', 'http://user:hidden@a:4222'],
    ['no host', 'nats://user:hidden@'],
    ['an empty host among others', 'nats://user:hidden@a:4222,,b:4222'],
    ['a port that is none', 'nats://user:hidden@a:4222,b:port'],
    ['an authority without TLS', 'nats://user:hidden@a:4222?tlsCAFile=/etc/ca.crt'],
    ['an option that nobody reads', 'tls://user:hidden@a:4222?verify=hidden'],
    ['a password that cannot be decoded', 'nats://user:hidden%zz@a:4222'],
  ])('refuses %s, and repeats nothing of it', (_, address) => {
    const [line, ...more] = faultsOf({ NATS_URL: address });
    expect(more).toEqual([]);
    expect(line).toMatch(/^ {2}NATS_URL: must be an address such as nats:\/\/host:4222, /);
    expect(line).not.toContain('hidden');
  });
});

/** One wrong value of each setting that does not take every text. */
const wrongValues: Record<string, string> = {
  EVENTSTORE_URL: 'http://a',
  DATABASE_URL: 'mysql://a/b',
  NATS_URL: '127.0.0.1',
  NATS_REPLICAS: '2',
  SAMPLE_PLATFORM_URL: 'sample',
  EVENTSTORE_PREFIX: 'Ours',
  PORT: 'http',
  HEALTH_PORT: '65536',
  PUBLIC_URL: 'example.com',
  DOWNLOAD_URL: 'ftp://a',
  REELTALLY_URL: 'example.com',
  REELTALLY_SECRET: 'short',
  REELTALLY_OLD_SECRETS: 'short',
  PROOF_SIGNING_KEY: 'short',
  PROOF_ORIGIN: 'a b',
  DEMO: 'yes',
  STAFF_PORT: '-1',
  STAFF_URL: 'staff.example',
  OIDC_ISSUER: 'http://login.example',
  OIDC_SCOPE: 'email',
  SANDBOX: 'off',
  EGRESS_PROXY: 'socks5://a:1080',
  EGRESS_SOURCE_ADDRESS: 'eth0',
  S3_PREFIX: '/films',
  S3_ENDPOINT: 'a',
  S3_PUBLIC_ENDPOINT: 'a',
  S3_FORCE_PATH_STYLE: 'true',
  LOG_LEVEL: 'loud',
  TRUSTED_PROXIES: 'proxy',
  UNAUTHENTICATED_HOURLY_LIMIT: '-1',
  WORKER_SLOTS: '0',
  MAX_JOBS_PER_ACCOUNT: '1e3',
  LINK_IDLE_SECONDS: 'x',
  MAX_CONNECTIONS_PER_LINK: 'x',
  MAX_CONNECTIONS_PER_ADDRESS: 'x',
  MAX_JOBS_PER_PLATFORM: '65',
  MIN_FREE_DISK_MIB: '-1',
  MAX_FILE_MIB: '1.5',
  MAX_VIDEO_SIDE: '100',
  MAX_DURATION_SECONDS: 'x',
  ATTEMPT_TIMEOUT_SECONDS: '1',
  FILE_RETENTION_SECONDS: '1',
  CLOSING_GRACE_SECONDS: 'x',
  DOCUMENT_RETENTION_YEARS: '-1',
  STAFF_APPROVAL_CENTS: '-1',
  INVOICE_ISSUER: 'x'.repeat(201),
  SMTP_URL: 'smtp://a?b',
  MAIL_FROM: 'nobody',
  OTEL_TRACES_SAMPLER_ARG: '2',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'collector',
  REELTALLY_CLOCK_OFFSET_SECONDS: 'tomorrow',
};

/** They are secrets, or usually hold one. */
const neverShown = /SECRET|PROOF_SIGNING_KEY|SMTP_URL|EVENTSTORE_URL|DATABASE_URL|NATS_URL|OTLP_ENDPOINT|EGRESS_PROXY/;

describe('a wrong value', () => {
  it.each(Object.entries(wrongValues))('of %s (%s) is named in our words', (name, value) => {
    const [line = '', ...more] = faultsOf({ [name]: value });
    expect(more).toEqual([]);
    expect(line).toMatch(new RegExp(`^  ${name}: must (be|have|hold|begin) `));
    const shown = `, and is ${JSON.stringify(value.slice(0, 60))}`;
    if (neverShown.test(name)) expect(line).not.toContain(value);
    else expect(line.slice(-shown.length)).toBe(shown);
  });

  it('is tried here for every setting that does not take every text', () => {
    const anyText = Object.entries(environment.shape)
      .filter(([, kind]) => kind.safeParse('any text, "@" -/-').success)
      .map(([name]) => name);
    expect([...new Set([...Object.keys(wrongValues), ...anyText])].sort()).toEqual(
      Object.keys(environment.shape).sort(),
    );
  });

  it.each([
    ['PUBLIC_URL', 'htps://user:hidden@example.com', 'htps://…@example.com'],
    ['REELTALLY_URL', 'https://user:hidden@api.example', 'https://…@api.example'],
    ['OIDC_ISSUER', 'https://user:hidden@login.example', 'https://…@login.example'],
    ['PUBLIC_URL', 'http://hidden@example.com', 'http://…@example.com'],
    ['TRUSTED_PROXIES', '10.0.0.1,http://user:hidden@proxy', '…@proxy'],
    ['S3_ENDPOINT', 'user:hidden@s3.example', '…@s3.example'],
    ['STAFF_URL', 'http//user:hid@d/hidden@staff.example', '…@staff.example'],
    ['PORT', 'http:\\\\user:hidden\n@host', '…@host'],
    ['MAIL_FROM', 'a b@example.com', 'a b@example.com'],
  ])('of %s (%j) is shown without user and password', (name, value, shown) => {
    const [line, ...more] = faultsOf({ [name]: value });
    expect(more).toEqual([]);
    expect(line?.endsWith(`, and is "${shown}"`), line).toBe(true);
  });
});

describe('SMTP_URL', () => {
  it.each(['smtp://mail.example', 'smtps://user:p%40ss%25@mail.example:465', 'smtp://[::1]:25/'])(
    'takes %s',
    (address) => {
      expect(readConfig({ SMTP_URL: address, MAIL_FROM: 'a@b' }).SMTP_URL).toBe(address);
    },
  );

  it.each([
    ['a password that cannot be decoded', 'smtp://user:hidden%zz@h'],
    ['a user that cannot be decoded', 'smtp://hidden%@h'],
    ['another protocol', 'http://user:hidden@h'],
    ['a path', 'smtp://user:hidden@h/hidden'],
  ])('refuses %s in one line that repeats nothing of it', (_, address) => {
    const [line, ...more] = faultsOf({ SMTP_URL: address, MAIL_FROM: 'a@b' });
    expect(more).toEqual([]);
    expect(line).toMatch(/^ {2}SMTP_URL: must (be|have) /);
    expect(line).not.toContain('hidden');
  });
});

it('a provider without the name of its client is refused, and neither is needed', () => {
  const both = { OIDC_ISSUER: 'https://login.example', OIDC_CLIENT_ID: 'staff' };
  expect(readConfig(both)).toMatchObject({ ...both, OIDC_ROLE_CLAIM: 'roles', STAFF_HOST: '127.0.0.1' });
  for (const half of [{ OIDC_ISSUER: both.OIDC_ISSUER }, { OIDC_CLIENT_ID: 'staff' }])
    expect(refusalOf(half)).toBe('OIDC_ISSUER, OIDC_CLIENT_ID: set both, or neither.');
  for (const scope of ['profile', 'openid  email', ' openid', 'openid,email', 'openid "x"'])
    expect(refusalOf({ OIDC_SCOPE: scope })).toContain('OIDC_SCOPE: must be words');
  expect(readConfig({ OIDC_SCOPE: 'email openid api://x/.default' }).OIDC_SCOPE).toBe('email openid api://x/.default');
});

describe('a secret in a file', () => {
  const directory = temporaryDirectoryOfFile();
  const file = join(directory, 'database-url');

  it.each(['postgres://user:hidden@a/b', 'postgres://user:hidden@a/b\n', 'postgres://user:hidden@a/b\r\n'])(
    'is read from there without the end of its line (%j)',
    (content) => {
      writeFileSync(file, content);
      expect(readConfig({ DATABASE_URL_FILE: file })).toMatchObject({
        DATABASE_URL: 'postgres://user:hidden@a/b',
        allEmbedded: false,
        similarNames: [],
      });
    },
  );

  it('is checked like any other value, and never shown', () => {
    writeFileSync(file, 'hidden');
    const [line, ...more] = faultsOf({ DATABASE_URL_FILE: file });
    expect(line).toMatch(/^ {2}DATABASE_URL: must be an address that begins with [^\n]*$/);
    expect(more).toEqual([]);
    expect(line).not.toContain('hidden');
  });

  it('is refused beside the setting itself, if it is empty, or if it cannot be read', () => {
    writeFileSync(file, '\n');
    mkdirSync(join(directory, 'folder'));
    const both = { REELTALLY_SECRET: 'a secret that is long enough', REELTALLY_SECRET_FILE: file };
    expect(faultsOf(both)).toEqual(['  REELTALLY_SECRET, REELTALLY_SECRET_FILE: set only one of the two']);
    expect(faultsOf({ NATS_URL_FILE: file })).toEqual(['  NATS_URL_FILE: the file is empty']);
    expect(faultsOf({ NATS_URL_FILE: join(directory, 'none') })).toEqual([
      '  NATS_URL_FILE: the file cannot be read (ENOENT)',
    ]);
    expect(faultsOf({ NATS_URL_FILE: join(directory, 'folder') })).toEqual([
      '  NATS_URL_FILE: the file cannot be read (EISDIR)',
    ]);
  });

  it('is only there for secrets', () => {
    expect(faultsOf({ REELTALLY_DATA_FILE: file })).toEqual([
      expect.stringMatching(/^ {2}REELTALLY_DATA_FILE: is not a setting;/),
    ]);
  });
});

describe('a variable with our prefix that is no setting', () => {
  it.each([
    ['REELTALLY_DAT', 'REELTALLY_DATA'],
    ['REELTALLY_SECRETS', 'REELTALLY_SECRET'],
    ['REELTALLY_PORT', 'PORT'],
    ['REELTALLY_WORKER_SLOT', 'WORKER_SLOTS'],
    ['reeltally_data', 'REELTALLY_DATA'],
  ])('%s is refused, naming %s, and not its value', (name, setting) => {
    expect(faultsOf({ [name]: 'hidden' })).toEqual([`  ${name}: is not a setting; did you mean ${setting}?`]);
  });

  it('is refused beside wrong values, all at once', () => {
    expect(faultsOf({ REELTALLY_DAT: '/srv', PORT: 'http' })).toHaveLength(2);
  });

  it('is ignored where Kubernetes has put it there, or where it is empty', () => {
    const injected = {
      REELTALLY_SERVICE_HOST: '10.0.0.1',
      REELTALLY_SERVICE_PORT: '80',
      REELTALLY_SERVICE_PORT_HTTP: '80',
      REELTALLY_PORT: 'tcp://10.0.0.1:80',
      REELTALLY_PORT_80_TCP: 'tcp://10.0.0.1:80',
      REELTALLY_PORT_80_TCP_PROTO: 'tcp',
      REELTALLY_PORT_80_TCP_PORT: '80',
      REELTALLY_PORT_80_TCP_ADDR: '10.0.0.1',
      // Of a service with the name "health".
      HEALTH_PORT: 'tcp://10.0.0.1:80',
      REELTALLY_NOTHING: '',
    };
    expect(readConfig(injected)).toMatchObject({ HEALTH_PORT: 0, similarNames: [] });
  });
});

describe('a variable that is nearly a setting', () => {
  it.each([
    ['DATABSE_URL', 'DATABASE_URL'],
    ['WORKER_SLOT', 'WORKER_SLOTS'],
    ['NTAS_URL', 'NATS_URL'],
    ['EVENT_STORE_URL', 'EVENTSTORE_URL'],
    ['MAX_FILE_MB', 'MAX_FILE_MIB'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['PROT', 'PORT'],
    ['DMEO', 'DEMO'],
  ])('%s is told with %s', (name, setting) => {
    expect(readConfig({ [name]: 'x' }).similarNames).toEqual([{ name, setting }]);
  });

  it('is told beside what is refused, whatever that is', () => {
    const text = 'WORKER_SLOT is not a setting; did you mean WORKER_SLOTS?';
    expect(faultsOf({ WORKER_SLOT: 'hidden', PORT: 'http' })).toEqual([expect.stringMatching(/^ {2}PORT: /), text]);
    expect(faultsOf({ WORKER_SLOT: 'hidden', OIDC_CLIENT_ID: 'console' })).toEqual([text]);
  });

  it.each([
    'HOSTNAME',
    'HOME',
    'PORTS',
    'PORTO',
    'TROP',
    'SITE_URL',
    'HTTP_PORT',
    'OTEL_TRACES_SAMPLER',
    'AWS_REGION',
    'PWD',
    'SHLVL',
  ])('%s is none', (name) => {
    expect(readConfig({ [name]: 'x' }).similarNames).toEqual([]);
  });
});
