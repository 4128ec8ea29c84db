import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { readNatsAddress } from '../../src/adapters/nats/address.ts';
import { readConfig, secretSettings } from '../../src/main/settings/config.ts';
import { fileVariable } from '../../src/main/settings/secret-files.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { composeFile } from './compose-file.ts';
import { deployment } from './deployment.ts';

const execute = promisify(execFile);

afterEach(() => {
  vi.unstubAllEnvs();
});

const eventStores = ['event-store', 'event-store-2', 'event-store-3'];
const natsServers = ['nats', 'nats-2', 'nats-3'];

/** Every secret by its name. */
function secretsOf(deploy: string): Record<string, string> {
  const folder = join(deploy, 'secrets');
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]));
}

it('deploy/prepare.sh makes every secret that compose.yaml names, and keeps it', async () => {
  const { deploy, read, prepare } = deployment();
  await prepare();
  const wanted = Object.values(composeFile().secrets).map(({ file }) => file);
  expect(wanted.filter((file) => !existsSync(join(deploy, file)))).toEqual([]);
  expect(statSync(join(deploy, 'secrets')).mode & 0o777).toBe(0o700);
  expect(read('.env')).toBe(read('env.example'));
  expect(statSync(join(deploy, '.env')).mode & 0o777).toBe(0o600);
  const before = secretsOf(deploy);
  await prepare();
  expect(secretsOf(deploy)).toEqual(before);
});

it('deploy/prepare.sh gives the user of NATS the rights of this version, with the password of before, and says so', async () => {
  const { deploy, read, prepare } = deployment();
  await prepare();
  const users = read('secrets/nats_users');
  writeFileSync(join(deploy, 'secrets/nats_users'), users.replace('"short-links", ', ''));
  const { stdout } = await prepare();
  expect(read('secrets/nats_users')).toBe(users);
  expect(stdout).toMatch(/restart nats/);
  expect((await prepare()).stdout).toBe('');
});

it('deploy/prepare.sh that openssl failed makes every secret the next time', async () => {
  const { deploy, prepare } = deployment();
  const programs = temporaryDirectory();
  writeFileSync(join(programs, 'openssl'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const { PATH = '' } = process.env;
  vi.stubEnv('PATH', `${programs}:${PATH}`);
  await expect(prepare()).rejects.toThrow();
  vi.stubEnv('PATH', PATH);
  await prepare();
  const made = Object.entries(secretsOf(deploy));
  // A serial number loses its leading zeros.
  expect(made.filter(([, secret]) => !/[0-9a-f]{32}|-----BEGIN|^[\w+/]{43}=$/im.test(secret))).toEqual([]);
});

it('deploy/prepare.sh without openssl makes nothing', async () => {
  const { deploy, prepare } = deployment();
  const programs = temporaryDirectory();
  const { stdout } = await execute('sh', ['-c', 'command -v dirname']);
  symlinkSync(stdout.trim(), join(programs, 'dirname'));
  vi.stubEnv('PATH', programs);
  await expect(prepare()).rejects.toThrow(/openssl is missing: install it/);
  expect(readdirSync(deploy).sort()).toEqual(['cluster.env', 'env.example', 'prepare.sh']);
});

it('deploy/prepare.sh --cluster makes a single installation one of several servers, with the passwords of before', async () => {
  const { deploy, read, prepare } = deployment();
  await prepare();
  const before = secretsOf(deploy);
  writeFileSync(join(deploy, '.env'), read('.env').replace('https://localhost', 'https://example.com'));
  await prepare('--cluster');
  await prepare('--cluster');
  expect(read('.env')).toBe(
    read('env.example').replace('https://localhost', 'https://example.com') + read('cluster.env'),
  );
  const { database_url: database, nats_url: nats, eventstore_url: eventStore, ...others } = secretsOf(deploy);
  expect(before).toMatchObject(others);
  expect(database).toBe(before['database_url']);

  const servers = readNatsAddress(nats!.trim());
  expect(servers?.servers).toEqual(natsServers.map((host) => `${host}:4222`));
  const { credentials, tls } = readNatsAddress(before['nats_url']!.trim())!;
  expect(servers).toMatchObject({ credentials, tls });
  expect(eventStore).toContain(`@${eventStores.map((host) => `${host}:2113`).join(',')}?tls=true`);

  const authority = new X509Certificate(read('secrets/trusted/ca.crt'));
  const kinds = { eventstore: eventStores, nats: natsServers, postgres: ['postgres', 'postgres-standby'] };
  for (const [kind, hosts] of Object.entries(kinds)) {
    const certificate = new X509Certificate(read(`secrets/${kind}.crt`));
    expect(certificate.verify(authority.publicKey)).toBe(true);
    for (const host of hosts) expect(certificate.checkHost(host)).toBe(host);
  }
});

it('deploy/prepare.sh keeps an address of a server of your own', async () => {
  const { deploy, read, prepare } = deployment();
  await prepare();
  const own = 'tls://service:secret@nats.example.com:4222\n';
  writeFileSync(join(deploy, 'secrets/nats_url'), own);
  await prepare('--cluster');
  expect(read('secrets/nats_url')).toBe(own);
  expect(read('secrets/eventstore_url')).toContain('event-store-3:2113');
});

it('the service takes what deploy/prepare.sh has made, which follows deploy/.env to the primary of Postgres', async () => {
  const { deploy, read, prepare } = deployment();
  await prepare('--cluster');
  const settings = read('.env').replace('POSTGRES_PRIMARY=postgres', 'POSTGRES_PRIMARY="postgres-standby" # promoted');
  writeFileSync(join(deploy, '.env'), settings);
  await prepare();
  const { secrets, services } = composeFile();
  const files = Object.entries(services['api']!.environment)
    .filter(([name]) => secretSettings.map(fileVariable).includes(name))
    .map(([name, path]) => [name, join(deploy, secrets[String(path).split('/').at(-1)!]!.file)]);
  const config = readConfig({ ...parseEnv(read('.env')), ...(Object.fromEntries(files) as Record<string, string>) });
  expect(config).toMatchObject({ allEmbedded: false, NATS_REPLICAS: 3, similarNames: [] });
  expect(config.DATABASE_URL).toContain('@postgres-standby:5432/reeltally?sslmode=verify-full&');
});
