import { describe, expect, it } from 'vitest';
import { countLeaves } from '../../projections/proofs.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { beginTreeOrigin } from '../../src/commands/tree-heads.ts';
import { noteName, SigningRefused, signTreeHead, startSigningTreeHeads } from '../../src/dispatcher/sign-tree-heads.ts';
import { isTreeLeaf } from '../../src/domain/tree-head-events.ts';
import { openCheckpoint } from '../../src/proof/checkpoint.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { expectUnbrokenChain } from '../commands/unbroken-chain.ts';
import { writeLog } from '../projections/runner/rebuilding.ts';
import { openEventStore } from '../support/shared-event-stores.ts';
import { patienceMs, waitFor } from '../support/wait-for.ts';
import { naiveRoot } from './naive-tree.ts';
import { headsOf, notesOfTest, origin, signerFor, signingOfTest } from './signing.ts';

const log = logUnderTest();

/** The entries of the log, by itself. */
async function entriesOf(store = log.store): Promise<Buffer[]> {
  const leaves = (await store.readAll(-1n, 100_000)).filter(isTreeLeaf);
  return leaves.map(({ metadata }) => Buffer.from((metadata as { hash: string }).hash, 'hex'));
}

describe('heads', () => {
  it('are signed as the tree grows, each with the root that follows from the log, and go on after a restart', async () => {
    const signing = await signingOfTest(log.store);
    expect(await signTreeHead(signing)).toBe(0);
    expect(await headsOf(log.store)).toEqual([]);
    for (const rounds of [1, 1, 3]) {
      await writeLog(log.store, rounds);
      await signing.models.caughtUp();
      expect(await signTreeHead(signing)).toBe(0);
      // Nothing has grown.
      expect(await signTreeHead(signing)).toBe(0);
    }
    const entries = await entriesOf();
    const heads = await headsOf(log.store);
    expect(heads.map(({ size }) => size)).toHaveLength(3);
    expect(heads.at(-1)?.size).toBe(entries.length);
    const { publicKey } = signerFor(origin);
    for (const { size, root, note, key, origin: name } of heads) {
      expect(root).toBe(naiveRoot(entries.slice(0, size)).toString('hex'));
      expect(openCheckpoint(note, [publicKey])).toEqual({ size, root: Buffer.from(root, 'hex') });
      expect([key, name]).toEqual([publicKeyText(publicKey), origin]);
    }
    expectUnbrokenChain(await log.store.read('tree-heads', 0));
    expect(await signing.files.readNote(noteName(origin))).toBe(heads.at(-1)?.note);
  });

  it('are signed by another key from a rotation on', async () => {
    const signing = await signingOfTest(log.store);
    await writeLog(log.store, 1);
    await signing.models.caughtUp();
    await signTreeHead(signing);
    const rotated = { ...signing, signerFor: (name: string) => signerOf(name, Buffer.alloc(32, 8)) };
    await writeLog(log.store, 1);
    await signing.models.caughtUp();
    await signTreeHead(rotated);
    const [before, after] = (await headsOf(log.store)).slice(-2);
    expect(before?.key).toBe(publicKeyText(signerFor(origin).publicKey));
    expect(after?.key).toBe(publicKeyText(rotated.signerFor(origin).publicKey));
    // And back again, with the note of the other key outside.
    await writeLog(log.store, 1);
    await signing.models.caughtUp();
    await signTreeHead(signing);
  });

  it('are of one size each where two sign at once', async () => {
    const [one, other] = [await signingOfTest(log.store), await signingOfTest(log.store)];
    for (let round = 0; round < 5; round += 1) {
      await writeLog(log.store, 1);
      await Promise.all([one, other].map(({ models }) => models.caughtUp()));
      await Promise.all([signTreeHead(one), signTreeHead(other), signTreeHead({ ...one, files: other.files })]);
    }
    const sizes = (await headsOf(log.store)).map(({ size }) => size);
    expect(sizes).toEqual([...new Set(sizes)].sort((first, second) => first - second));
    expect(sizes.at(-1)).toBe(await countLeaves(one.pool));
  });
});

describe('nothing is signed', () => {
  it.each([
    ['a leaf with another hash', `update proof_leaves set hash = repeat('ab', 32) where leaf_index = $1`],
    ['a leaf of another event', 'update proof_leaves set revision = revision + 1 where leaf_index = $1'],
    ['a leaf that is missing', 'delete from proof_leaves where leaf_index = $1'],
    [
      'two leaves in another order',
      `update proof_leaves l set hash = o.hash, type = o.type, stream = o.stream, revision = o.revision,
         position = o.position, event_id = overlay(o.event_id::text placing 'ffff' from 1 for 4)::uuid
       from proof_leaves o where l.leaf_index = $1 and o.leaf_index = $1 + 1`,
    ],
    [
      'another node',
      `update proof_nodes set hash = repeat('ab', 32) where level = 0 and node_index = $1 and $1 is not null`,
    ],
  ])('where Postgres has %s', async (_what, sql) => {
    const signing = await signingOfTest(log.store);
    await signing.models.caughtUp();
    await signTreeHead(signing);
    const before = await headsOf(log.store);
    await writeLog(log.store, 4);
    await signing.models.caughtUp();
    const size = await countLeaves(signing.pool);
    // A node of level 0 belongs to the root by itself only where the tree ends with it.
    const at = sql.includes('proof_nodes') && size % 2 === 1 ? size - 1 : size - 2;
    await signing.pool.query(sql, [at]);
    if (sql.includes('proof_nodes') && size % 2 === 0)
      await signing.pool.query(`update proof_nodes set hash = repeat('ab', 32)`);
    await expect(signTreeHead(signing)).rejects.toThrow(SigningRefused);
    expect(await headsOf(log.store)).toEqual(before);
  });

  it('on a log that an older backup has brought back, until a person begins a new origin', async () => {
    const files = notesOfTest();
    const newer = await signingOfTest(log.store, files);
    await newer.models.caughtUp();
    await writeLog(log.store, 2);
    await newer.models.caughtUp();
    await signTreeHead(newer);
    const kept = await files.readNote(noteName(origin));
    // Another log stands for the older one: it has fewer leaves.
    const older = await openEventStore();
    const store = connectEventStore({ url: older.url, readTimeoutMs: patienceMs });
    try {
      await writeLog(store, 1);
      const signing = await signingOfTest(store, files);
      await signing.models.caughtUp();
      await expect(signTreeHead(signing)).rejects.toThrow('is it an older backup? See "proofs new-origin"');
      const loop = startSigningTreeHeads({ ...signing, everyMs: 20 });
      await waitFor(() => loop.state.refused !== undefined, { what: 'the loop to say that it refuses' });
      const reason = {
        base: origin,
        actor: { type: 'staff', id: 'maria', role: 'operator', reason: 'a lost disk' },
      } as const;
      const begun = await beginTreeOrigin(
        { ...signing, now: () => '2026-11-30T05:15:00.000Z' },
        { ...reason, correlationId: newUuid(), timeoutMs: patienceMs },
      );
      expect(begun).toBe(`${origin}/2026-11-30T05-15-00Z`);
      await waitFor(async () => (await headsOf(store)).length === 1, { what: 'a head under the new origin' });
      await waitFor(() => loop.state.refused === undefined, { what: 'the loop to say that it signs' });
      await loop.stop();
      const [head] = await headsOf(store);
      expect(head?.origin).toBe(begun);
      expect(openCheckpoint(head?.note ?? '', [signerFor(begun ?? '').publicKey])?.size).toBe(head?.size);
      expect(await files.readNote(noteName(origin))).toBe(kept);
      await waitFor(async () => (await files.readNote(noteName(begun ?? ''))) === head?.note, { what: 'its note' });
    } finally {
      await store.close();
      await older.stop();
    }
  });
});
