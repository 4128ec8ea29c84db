import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { notesFolder } from '../../src/adapters/files/file-key.ts';
import { expectRefusal, within } from '../cli/command-line.ts';
import { queue } from '../support/downloads.ts';
import { openPatientPool } from '../support/patient-pool.ts';
import { planFile } from '../support/plans.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { scaled } from '../support/proof-scale.ts';
import { readLog } from '../support/read-log.ts';
import { type OpenedAccount, runCommand, type Service, startService } from '../support/service.ts';
import { canMountSmallDisk, mountSmallDisk } from '../support/small-disk.ts';
import {
  temporaryDataDirectory,
  temporaryDirectory,
  temporaryDirectoryOfFile,
} from '../support/temporary-directory.ts';
import { pauseOfClient, waitFor } from '../support/wait-for.ts';

/** Backups of a running service: each is restored elsewhere, and a service is started on it. */
const backups = temporaryDirectoryOfFile();
const environment = {
  PLANS_FILE: planFile({ hourly_limit: 10_000, downloads_limit: 100_000 }),
  WORKER_SLOTS: '1',
};
let database: Awaited<ReturnType<typeof createMigratedDatabase>>;
let service: Service;
/** One for each client that makes the load. */
let accounts: OpenedAccount[];
let account: OpenedAccount;
beforeAll(async () => {
  database = await createMigratedDatabase();
  service = await startService({ ...environment, DATABASE_URL: database.url });
  accounts = [];
  while (accounts.length < scaled(3, 8)) accounts.push(await service.openAccount('test'));
  [account = expect.fail()] = accounts;
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database.drop();
});

interface BackedUp {
  position: string;
  events: number;
  broken_links: number;
  chain_heads: string;
}

const isOfDownload = ({ type }: { type: string }) => type === 'DownloadCreditDebited' || type === 'OverageCharged';

async function tokensInLogOf({ dataDirectory }: Service): Promise<Set<string>> {
  const { eventStoreUrl } = JSON.parse(readFileSync(join(dataDirectory, 'instance.json'), 'utf8')) as {
    eventStoreUrl: string;
  };
  const events = await readLog(eventStoreUrl, 'usage-');
  return new Set(events.filter(isOfDownload).map(({ data }) => (data as { token: string }).token));
}

/** Restores a backup into a new folder, and starts a service on it. */
async function startRestored(backup: string): Promise<Service> {
  const data = join(temporaryDataDirectory(), 'data');
  const { code, stderr } = await within({ REELTALLY_DATA: data })('backup', 'restore', backup);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(statSync(data).mode & 0o777).toBe(0o700);
  return await startService({ ...environment, REELTALLY_DATA: data }, { postgres: 'of the run' });
}

it('a backup at any moment under load has everything that was acknowledged before, and its books agree', async () => {
  const acknowledged: string[] = [];
  for (let round = 0; round < scaled(3, 50); round += 1) {
    let isOver = false;
    const client = async ({ key }: OpenedAccount) => {
      while (!isOver) {
        acknowledged.push((await queue(service.url, key, { url: service.sampleUrl('private') })).request_token);
        await pauseOfClient();
      }
    };
    const clients = Promise.all(accounts.map(client));
    const wanted = acknowledged.length + 1 + Math.floor(Math.random() * 200);
    await waitFor(() => acknowledged.length >= wanted, { what: 'load' });
    const backup = join(backups, `drill-${String(round)}`);
    const before = [...acknowledged];
    const made = await service.cli<BackedUp>('backup', 'create', backup);
    isOver = true;
    await clients;
    expect(made.broken_links).toBe(0);
    expect(await service.cli('backup', 'verify', backup)).toMatchObject({ position: made.position });

    await using restored = await startRestored(backup);
    expect(await restored.cli('ledger', 'verify')).toMatchObject({ verdict: 'verified' });
    const found = await tokensInLogOf(restored);
    expect(before.filter((token) => !found.has(token))).toEqual([]);
    // It is of that moment, and not of a later one.
    expect(found.size).toBeLessThanOrEqual(acknowledged.length);
    // The account of the demo, the key and the secret are the old ones.
    expect(restored.demo?.accountId).toBe(service.demo?.accountId);
    await queue(restored.url, account.key, { url: restored.sampleUrl('private') });
  }
});

it('a pending void is restored too', async () => {
  const pool = openPatientPool(database.url, { max: 1 });
  onTestFinished(() => pool.end());
  // Without a MAC the dispatcher leaves it where it is.
  const id = randomUUID();
  await pool.query(
    `insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids)
     values ($1, $2, $3, 7, '[]', '[{"kind":"download","token":"t"}]')`,
    [id, account.accountId, `usage-${account.accountId}-20260101`],
  );
  const backup = join(backups, 'pending');
  await service.cli('backup', 'create', backup);
  await pool.query('delete from pending_voids');
  const data = join(temporaryDataDirectory(), 'data');
  await within({ REELTALLY_DATA: data })('backup', 'restore', backup);
  const other = await createMigratedDatabase();
  onTestFinished(() => other.drop());
  await using _restored = await startService({ ...environment, REELTALLY_DATA: data, DATABASE_URL: other.url });
  const otherPool = openPatientPool(other.url, { max: 1 });
  const { rows } = await otherPool.query('select append_id, voids from pending_voids');
  await otherPool.end();
  expect(rows).toEqual([{ append_id: id, voids: [{ kind: 'download', token: 't' }] }]);
  expect(existsSync(join(data, 'pending-voids.json'))).toBe(false);
});

describe('a backup', () => {
  const whole = join(backups, 'whole');
  beforeAll(async () => {
    mkdirSync(join(service.dataDirectory, 'files'), { recursive: true });
    writeFileSync(join(service.dataDirectory, 'files', 'film.mp4'), 'a film');
    mkdirSync(join(service.dataDirectory, 'files', notesFolder), { recursive: true });
    writeFileSync(join(service.dataDirectory, 'files', notesFolder, 'a-note'), 'a note');
    await service.cli('backup', 'create', whole);
  });

  it('is for its owner alone, and has the secret and the finished files', () => {
    expect(statSync(whole).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(whole, 'data')).sort()).toEqual(expect.arrayContaining(['event-store', 'files', 'secret']));
    expect(statSync(join(whole, 'data/secret')).mode & 0o777).toBe(0o600);
    expect(statSync(join(whole, 'data/event-store/events.sqlite')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(whole, 'data/files/film.mp4'), 'utf8')).toBe('a film');
    // A restored log is compared with the newest note that was kept, and not with one of its own age.
    expect(existsSync(join(whole, 'data/files', notesFolder))).toBe(false);
  });

  it('without files has none of them', async () => {
    const small = join(backups, 'small');
    await service.cli('backup', 'create', small, '--without-files');
    expect(existsSync(join(small, 'data/files'))).toBe(false);
  });

  it.each([[[]], [['--without-files']]])('has a mail that was written while the log was copied %s', async (flags) => {
    const backup = join(backups, `mail${flags.length}`);
    const pool = openPatientPool(database.url, { max: 1 });
    const client = await pool.connect();
    // The backup reads this table once the log is copied.
    await client.query('begin; lock table pending_voids in access exclusive mode');
    const made = service.cli('backup', 'create', backup, ...flags);
    const hasLog = () =>
      readdirSync(backups).some(
        (name) =>
          name.startsWith(`mail${flags.length}.incomplete`) &&
          existsSync(join(backups, name, 'data/event-store/events.sqlite')),
      );
    await waitFor(hasLog, { what: 'the copy of the log' });
    mkdirSync(join(service.dataDirectory, 'mails'), { recursive: true });
    writeFileSync(join(service.dataDirectory, 'mails', `late${flags.length}.eml`), 'a mail');
    await client.query('commit');
    client.release();
    await pool.end();
    await made;
    expect(readdirSync(join(backup, 'data/mails'))).toContain(`late${flags.length}.eml`);
  });

  it('never replaces a folder, and leaves nothing of a refused one', async () => {
    const run = within({ REELTALLY_DATA: service.dataDirectory, DATABASE_URL: database.url });
    expectRefusal(await run('backup', 'create', whole), /whole exists: name a new folder/);
    expectRefusal(await run('backup', 'create', join(backups, 'no/such')), /no\/such cannot be read or written/);
    expectRefusal(
      await within({ ...environment, REELTALLY_DATA: temporaryDirectory() })('backup', 'create', join(backups, 'none')),
      /No instance runs on/,
    );
    expect(readdirSync(backups).filter((name) => name.includes('incomplete'))).toEqual([]);
  });

  it('is not restored over anything', async () => {
    const data = temporaryDirectory();
    writeFileSync(join(data, 'mine'), '');
    expectRefusal(await within({ REELTALLY_DATA: data })('backup', 'restore', whole), /is not empty/);
    expect(readdirSync(data)).toEqual(['mine']);
  });

  const log = 'data/event-store/events.sqlite';
  const flipBit = (file: string) => {
    const bytes = readFileSync(file);
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    writeFileSync(file, bytes);
  };
  /** An event is changed, and the manifest says that the file has to be as it is now. */
  const forge = (backup: string) => {
    const database = new DatabaseSync(join(backup, log));
    database.exec(
      `update events set data = cast(replace(cast(data as text), '"personal":"A', '"personal":"B') as blob)`,
    );
    database.close();
    const sha256 = createHash('sha256')
      .update(readFileSync(join(backup, log)))
      .digest('hex');
    const file = join(backup, 'manifest.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as {
      files: { path: string; bytes: number; sha256: string }[];
    };
    Object.assign(manifest.files.find(({ path }) => path.endsWith('.sqlite')) ?? {}, {
      sha256,
      bytes: statSync(join(backup, log)).size,
    });
    writeFileSync(file, JSON.stringify(manifest));
  };
  const damages: [what: string, damage: (backup: string) => void, message: RegExp][] = [
    ['a bit of its log flipped', (backup) => flipBit(join(backup, log)), /event-store\/events\.sqlite was changed/],
    ['a bit of a film flipped', (backup) => flipBit(join(backup, 'data/files/film.mp4')), /film\.mp4 was changed/],
    ['no log', (backup) => rmSync(join(backup, log)), /events\.sqlite is missing/],
    ['a file too many', (backup) => writeFileSync(join(backup, 'data/other'), ''), /not its own: other/],
    ['no manifest', (backup) => rmSync(join(backup, 'manifest.json')), /is no backup/],
    [
      'half a manifest',
      (backup) => writeFileSync(join(backup, 'manifest.json'), '{"form'),
      /is damaged, or of another/,
    ],
    ['a changed event', forge, /its log is not what its manifest says/],
  ];
  it.each(damages)('with %s is refused', async (_what, damage, message) => {
    const damaged = join(temporaryDirectory(), 'damaged');
    cpSync(whole, damaged, { recursive: true });
    damage(damaged);
    const data = join(temporaryDirectory(), 'data');
    expectRefusal(await within({})('backup', 'verify', damaged), message);
    expectRefusal(await within({ REELTALLY_DATA: data })('backup', 'restore', damaged), message);
    expect(existsSync(data)).toBe(false);
  });
});

it.runIf(canMountSmallDisk)('a disk without room is refused, and left as it is', async () => {
  const disk = await mountSmallDisk(48);
  const data = join(disk.directory, 'data');
  const refused = await runCommand(
    ['backup', 'restore', join(backups, 'whole')],
    { REELTALLY_DATA: data },
    disk.inside,
  );
  expectRefusal(refused, /has no room: \d+ MiB are needed, \d+ MiB are free/);
  const [command = '', ...words] = disk.inside(['ls', '-A', disk.directory]);
  expect(execFileSync(command, words, { encoding: 'utf8' })).toBe('');
});
