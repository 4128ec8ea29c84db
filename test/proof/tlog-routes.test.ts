import { describe, expect, it } from 'vitest';
import { readTile } from '../../projections/queries/tiles.ts';
import { openCheckpoint } from '../../src/proof/checkpoint.ts';
import { publicKeyOf, signerOf } from '../../src/proof/signed-note.ts';
import { entriesOfBundle, type Tile, tilesOf } from '../../src/proof/tiles.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { ownService } from '../http/shared-service.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { scaled } from '../support/proof-scale.ts';
import { waitFor } from '../support/wait-for.ts';
import { naiveRoot, sha256 } from './naive-tree.ts';
import { signingOfTest } from './signing.ts';

const seed = Buffer.alloc(32, 9);
const service = ownService({ PROOF_SIGNING_KEY: seed.toString('base64'), PROOF_ORIGIN: 'tlog.example.com/books' });

const ask = (path: string, init?: RequestInit) => fetch(`${service.url}/tlog/${path}`, init);

describe('the signed log', () => {
  it('is served to everybody once a head is signed, and proves its own root', async () => {
    await service.openAccount('enterprise');
    await waitFor(async () => (await ask('checkpoint')).status === 200, { what: 'a signed head' });
    const checkpoint = await ask('checkpoint');
    expect(checkpoint.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(checkpoint.headers.get('cache-control')).toBe('public, max-age=5');
    const note = await checkpoint.text();
    expect(note).toMatch(/^tlog\.example\.com\/books\n\d+\n[^\n]{44}\n\n— tlog\.example\.com\/books \S+\n$/);
    const keys = (await (await ask('keys')).text()).trimEnd().split('\n');
    const { publicKey } = signerOf('tlog.example.com/books', seed);
    expect(keys.map(publicKeyOf)).toEqual([publicKey]);
    const head = openCheckpoint(note, [publicKey]);
    const width = head?.size === 256 ? '' : `.p/${String(head?.size)}`;
    const bundle = await ask(`tile/entries/000${width}`);
    expect(bundle.headers.get('content-type')).toBe('application/octet-stream');
    expect(bundle.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const entries = entriesOfBundle(Buffer.from(await bundle.arrayBuffer()));
    expect(naiveRoot(entries)).toEqual(head?.root);
    const hashes = Buffer.from(await (await ask(`tile/0/000${width}`)).arrayBuffer());
    expect(hashes).toEqual(Buffer.concat(entries.map((entry) => sha256(Buffer.of(0), entry))));
  });

  it.each([
    '',
    'tile/0/001',
    'tile/0/000.p/0',
    'tile/9/000.p/1',
    'tile/0/000.p/255',
    'tile/nothing',
    'tile/',
    'checkpoints',
  ])('answers %j with the envelope of an error', async (path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ success: false, error: { code: 'not_found' } });
  });

  it('is there for HEAD, and takes no other method', async () => {
    const head = await ask('checkpoint', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await ask('checkpoint', { method: 'POST', body: 'x' })).status).toBe(404);
  });

  it('has another address under another origin, so that no cache mixes the tiles of two', async () => {
    const words = ['proofs', 'new-origin', '--reason', 'a restored backup'];
    const { origin } = await service.cli<{ origin: string }>(...words);
    const begun = origin.replace('tlog.example.com/books/', '');
    const sizeOf = async (path: string) => Number((await (await ask(path)).text()).split('\n')[1]);
    const before = await sizeOf('checkpoint');
    expect((await ask(`${begun}/checkpoint`)).status).toBe(404);
    await service.openAccount('enterprise');
    await waitFor(async () => (await ask(`${begun}/checkpoint`)).status === 200, { what: 'a head of the new origin' });
    expect((await (await ask(`${begun}/checkpoint`)).text()).split('\n')[0]).toBe(origin);
    expect(await sizeOf(`${begun}/checkpoint`)).toBeGreaterThan(before);
    // Also a tile that was asked for under the one before.
    const tile = `tile/entries/000.p/${String(before)}`;
    expect((await ask(`${begun}/${tile}`)).headers.get('cache-control')).toContain('immutable');
    for (const path of ['checkpoint', tile, '2020-01-01T00-00-00Z/checkpoint', `2020-01-01T00-00-00Z/${tile}`]) {
      const answer = await ask(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toMatchObject({ error: { message: `The log is at /tlog/${begun}` } });
    }
    const keys = (await (await ask('keys')).text()).trimEnd().split('\n');
    expect(keys.map((key) => publicKeyOf(key)?.name)).toEqual([origin, 'tlog.example.com/books']);
  });
});

describe('tiles', () => {
  const log = logUnderTest();

  it('have the hashes of the definition, whole and in part', async () => {
    const { models, pool } = await signingOfTest(log.store);
    const account = new GeneratedAccount();
    const size = scaled(600, 70_000);
    await appendAll(log.store, [...account.open(), account.invoice()]);
    await appendAll(
      log.store,
      Array.from({ length: size - 1 }, (_, index) => account.credit(index + 1)),
    );
    await models.caughtUp();
    const { rows } = await pool.query<{ hash: string }>('select hash from proof_leaves order by leaf_index');
    const entries = rows.map(({ hash }) => Buffer.from(hash, 'hex'));
    expect(entries).toHaveLength(size);
    const expected = ({ level, index, width }: Tile): Buffer[] => {
      const leaves = level === 'entries' ? 1 : 256 ** level;
      return Array.from({ length: width }, (_, at) => {
        const from = (index * 256 + at) * leaves;
        const [entry = Buffer.of()] = entries.slice(from, from + 1);
        return level === 'entries' ? entry : naiveRoot(entries.slice(from, from + leaves));
      });
    };
    for (const tile of tilesOf(size)) {
      const bytes = await readTile(pool, tile);
      const parts = tile.level === 'entries' ? entriesOfBundle(bytes) : [bytes];
      expect(Buffer.concat(parts)).toEqual(Buffer.concat(expected(tile)));
      const part = { ...tile, width: Math.ceil(tile.width / 2) };
      expect(await readTile(pool, part)).toEqual(bytes.subarray(0, (bytes.length / tile.width) * part.width));
    }
    await expect(readTile(pool, { level: 0, index: 900, width: 1 })).rejects.toThrow('the tree lacks a part');
  });
});
