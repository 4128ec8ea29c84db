import { expect, it } from 'vitest';
import { countLeaves, nodesOf, proofs, readLeafOf, readLeaves } from '../../projections/proofs.ts';
import { isTreeLeaf } from '../../src/domain/tree-head-events.ts';
import { rootOf } from '../../src/proof/merkle-tree.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { naiveRoot } from '../proof/naive-tree.ts';
import { readModelsOfTest } from './read-models-under-test.ts';
import { rebuildOn, rowsOf, writeLog } from './runner/rebuilding.ts';

const log = logUnderTest();

it('the tree has a leaf for each closing, invoice and credit note, in the order of the log', async () => {
  const models = await readModelsOfTest(log.store, [proofs]);
  await writeLog(log.store, 5);
  await models.caughtUp();
  await writeLog(log.store, 8);
  await models.caughtUp();
  const events = (await log.store.readAll(-1n, 10_000)).filter(isTreeLeaf);
  expect(events.length).toBeGreaterThan(13);
  expect(await countLeaves(models.pool)).toBe(events.length);
  const hashes = events.map(({ metadata }) => (metadata as { hash: string }).hash);
  const leaves = await readLeaves(models.pool, { from: 0, to: events.length });
  expect(leaves).toEqual(
    events.map(({ type, stream, revision, id, position }, index) => ({
      leaf_index: index,
      hash: hashes[index],
      type,
      stream,
      revision,
      event_id: id,
      position: String(position),
    })),
  );
  expect(await readLeafOf(models.pool, events[3]?.id ?? '')).toEqual(leaves[3]);
  const entries = hashes.map((hash) => Buffer.from(hash, 'hex'));
  for (let size = 0; size <= entries.length; size += 1)
    expect(await rootOf(size, nodesOf(models.pool))).toEqual(naiveRoot(entries.slice(0, size)));
  const before = await rowsOf(models, proofs);
  expect((await rebuildOn(log.store, models, proofs)).tables).toMatchObject([
    { name: 'proof_leaves', missing: 0, surplus: 0 },
    { name: 'proof_nodes', missing: 0, surplus: 0 },
    { name: 'proof_heads', missing: 0, surplus: 0 },
  ]);
  expect(await rowsOf(models, proofs)).toEqual(before);
});
