import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createReadModelQueries } from '../../src/adapters/postgres/read-model-queries.ts';
import { Verifier } from '../../src/audit/compare/verifier.ts';
import { compareCheckpoints } from '../../src/cli/ledger/kept-checkpoints.ts';
import { signTreeHead } from '../../src/dispatcher/sign-tree-heads.ts';
import { isTreeLeaf } from '../../src/domain/tree-head-events.ts';
import { signCheckpoint } from '../../src/proof/checkpoint.ts';
import { signerOf } from '../../src/proof/signed-note.ts';
import { auditedAt, writeAuditedHistory } from '../audit/audited-history.ts';
import { forge, inCopyOf, project, withLog } from '../audit/copied-log.ts';
import { bytesOf, ForgedLog, textOf } from '../audit/forged-log.ts';
import { Random } from '../audit/random.ts';
import { expectText, within } from '../cli/command-line.ts';
import { createReadModels, silent, type TestReadModels, testSecret } from '../projections/read-models-under-test.ts';
import { scaled } from '../support/proof-scale.ts';
import type { Environment } from '../support/service.ts';
import { temporaryDirectory, temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { notesOfTest, origin, signerFor } from './signing.ts';

/**
 * Somebody rewrites the past of the log with its chains, makes the read models anew, and signs heads anew with the real key: all
 * of it agrees with itself. Only what an auditor has kept tells that it is another past.
 */
const seed = Number(process.env['PROOF_SEED'] ?? 20_261_130);
const random = new Random(seed);
const original = temporaryDirectoryOfFile();
const mirror = temporaryDirectoryOfFile();
const data = temporaryDirectoryOfFile();
const notes = notesOfTest(temporaryDirectoryOfFile());
const kept = join(mirror, 'checkpoint');

const newUuid = () => random.uuid();

type Store = Parameters<Parameters<typeof withLog>[1]>[0];

const entriesOf = async (store: Store) =>
  (await store.readAll(-1n, 100_000)).filter(isTreeLeaf).map(({ metadata }) => (metadata as { hash: string }).hash);

/** Makes the read models of a log, signs what it has, and brings them up to the head. */
async function sign(store: Store, models: TestReadModels, files = notesOfTest()): Promise<void> {
  await project(store, models);
  const parts = { store, pool: models.pool, files, origin, signerFor, newUuid, logger: silent };
  expect(await signTreeHead({ ...parts, now: () => auditedAt })).toBe(0);
  await project(store, models);
}

const environmentOf = (url: string, models: TestReadModels): Environment => ({
  REELTALLY_DATA: data,
  REELTALLY_SECRET: testSecret,
  EVENTSTORE_URL: url,
  DATABASE_URL: models.url,
  NATS_URL: 'nats://127.0.0.1:1',
});

async function divergencesOf(store: Store, models: TestReadModels): Promise<unknown[]> {
  const queries = createReadModelQueries(models.pool);
  const verifier = new Verifier({ log: store, queries, readModelTimeoutMs: 0, now: () => auditedAt });
  await verifier.catchUp();
  return verifier.divergences.list();
}

/** Makes the hashes of a stream right again, and those by which lines of invoices name its events. */
function rechain(log: ForgedLog, key: number): void {
  const hashes = () =>
    new ForgedLog(log.database)
      .ofStream(key)
      .map(({ metadata }) => (JSON.parse(textOf(metadata)) as { hash: string }).hash);
  const before = hashes();
  log.rechain(key);
  const after = hashes();
  const renamed = new Map(before.map((hash, index) => [hash, after[index] ?? hash]));
  const naming = new Set<number>();
  for (const { position, stream_key: other, type, data } of log.rows) {
    if (type !== 'InvoiceIssued') continue;
    const text = textOf(data);
    const changed = text.replaceAll(/[0-9a-f]{64}/g, (hash) => renamed.get(hash) ?? hash);
    if (changed === text) continue;
    log.write(position, { data: bytesOf(JSON.parse(changed)) });
    naming.add(other);
  }
  for (const other of naming) log.rechain(other);
}

/** Another video of a download whose period is closed: no money, and no rule of the audit, depends on it. */
function rewritePast(directory: string): void {
  forge(directory, (log) => {
    const closed = new Set(log.rows.filter(({ type }) => type === 'UsagePeriodClosed').map((row) => row.stream_key));
    const queued = log.rows.filter(({ type, stream_key: key }) => type === 'DownloadQueued' && closed.has(key));
    const row = random.pick(queued);
    const forged = { video_id: 'forged', url: 'https://example.com/forged' };
    log.write(row.position, { data: bytesOf({ ...(JSON.parse(textOf(row.data)) as object), ...forged }) });
    rechain(log, row.stream_key);
    const heads = log.rows.find(({ name }) => name === 'tree-heads');
    if (heads) log.removeStream(heads.stream_key);
  });
}

let entries: string[];
beforeAll(async () => {
  await withLog(original, async (store, url) => {
    await writeAuditedHistory(store, random, { accounts: 3 });
    await using models = await createReadModels();
    await sign(store, models, notes);
    entries = await entriesOf(store);
    expect(await divergencesOf(store, models)).toEqual([]);
    await models.pool.query('insert into installation (clock_may_be_shifted) values (true)');
    const run = within(environmentOf(url, models));
    expectText(await run('proofs', 'mirror', mirror), /has the log of \d+ leaves/);
    // Again: nothing more.
    expect(JSON.parse((await run('proofs', 'mirror', mirror, '--json')).stdout)).toMatchObject({ tiles_written: 0 });
    const verified = JSON.parse((await run('ledger', 'verify', '--checkpoint', kept, '--json')).stdout) as object;
    expect(verified).toMatchObject({ checkpoints: [{ holds: true, first_changed: null, size: entries.length }] });
    expectText(await run('proofs', 'checkpoint'), /^reeltally\.test\/tlog\n\d+\n/);
    expectText(await run('proofs', 'keys'), /^reeltally\.test\/tlog\+[0-9a-f]{8}\+\S+\n$/);
  });
});

describe('a past that was rewritten, with read models and heads', () => {
  const count = scaled(4, 200);

  it(`passes the audit alone; the kept mirror names the first changed leaf, in ${String(count)} of ${String(count)}`, async () => {
    for (let forgery = 0; forgery < count; forgery += 1) {
      await inCopyOf(original, async (copy) => {
        rewritePast(copy);
        await withLog(copy, async (store, url) => {
          await using models = await createReadModels();
          await sign(store, models);
          expect(await divergencesOf(store, models)).toEqual([]);
          const now = await entriesOf(store);
          const first = now.findIndex((entry, index) => entry !== entries[index]);
          expect(first).toBeGreaterThanOrEqual(0);
          const [compared] = await compareCheckpoints(store, [kept]);
          expect(compared).toMatchObject({ holds: false, first_changed: { leaf_index: first } });
          if (forgery > 0) return;
          await models.pool.query('insert into installation (clock_may_be_shifted) values (true)');
          const ran = await within(environmentOf(url, models))('ledger', 'verify', '--checkpoint', kept);
          expect(ran.code).toBe(1);
          expect(ran.stderr).toContain(`leaf ${String(first)} is the first of the ${String(entries.length)} leaves`);
          // A mirror is not written over by another past.
          const mirrored = await within(environmentOf(url, models))('proofs', 'mirror', mirror);
          expect([mirrored.code, mirrored.stderr]).toEqual([
            1,
            expect.stringContaining('is another than the log has now'),
          ]);
        });
      });
    }
  });

  it('is found by the checkpoint alone too, without the leaf; and by none that is older than what was changed', async () => {
    const alone = join(temporaryDirectory(), 'checkpoint');
    cpSync(kept, alone);
    await inCopyOf(original, async (copy) => {
      rewritePast(copy);
      await withLog(copy, async (store) => {
        const [compared] = await compareCheckpoints(store, [alone]);
        expect(compared).toMatchObject({ holds: false, first_changed: null });
        expect(compared?.verdict).toMatch(/^one of the \d+ leaves of this checkpoint was changed, or more/);
      });
    });
  });
});

it('a log that ends earlier, and files that are of no use', async () => {
  await withLog(temporaryDirectory(), async (store) => {
    const [compared] = await compareCheckpoints(store, [kept]);
    expect(compared).toMatchObject({ holds: false, first_changed: null });
    expect(compared?.verdict).toBe(`the log has only 0 of the ${String(entries.length)} leaves of this checkpoint`);
    await expect(compareCheckpoints(store, [join(mirror, 'none')])).rejects.toThrow('cannot be read: ENOENT');
    await expect(compareCheckpoints(store, [join(mirror, 'keys')])).rejects.toThrow('is no checkpoint');
    const damaged = temporaryDirectory();
    cpSync(mirror, damaged, { recursive: true });
    const bundle = join(damaged, 'tile/entries', `000.p/${String(entries.length)}`);
    const bytes = readFileSync(bundle);
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    writeFileSync(bundle, bytes);
    await expect(compareCheckpoints(store, [join(damaged, 'checkpoint')])).rejects.toThrow('do not have its root');
  });
});

it('a checkpoint whose signature is missing or wrong is of no use; one of a key that the log does not name is compared, and it says so', async () => {
  const note = readFileSync(kept, 'utf8');
  const [text = '', signature = ''] = note.split('\n\n');
  const head = { size: entries.length, root: Buffer.from(text.split('\n')[2] ?? '', 'base64') };
  const fileOf = (content: string): string => {
    const file = join(temporaryDirectory(), 'checkpoint');
    writeFileSync(file, content);
    return file;
  };
  const compare = (store: Store, content: string) => compareCheckpoints(store, [fileOf(content)]);
  await withLog(original, async (store) => {
    for (const unsigned of [`${text}\n\n`, `${text}\n\n— another.example/log ${signature.split(' ')[2] ?? ''}`])
      await expect(compare(store, unsigned)).rejects.toThrow(`is not signed by ${origin}`);
    const otherRoot = `${origin}\n${String(head.size)}\n${Buffer.alloc(32).toString('base64')}\n\n${signature}`;
    await expect(compare(store, otherRoot)).rejects.toThrow(/^the signature of \S+ is wrong$/);
    const ofOtherKey = signCheckpoint(head, signerOf(origin, Buffer.alloc(32, 8)));
    const [compared] = await compare(store, ofOtherKey);
    expect(compared).toMatchObject({ holds: true, key_is_in_log: false });
    expect(compared?.verdict).toMatch(
      /was changed; no head of the log names its key, so its signature was not verified$/,
    );
    expect(await compareCheckpoints(store, [kept])).toMatchObject([{ holds: true, key_is_in_log: true }]);
  });
});
