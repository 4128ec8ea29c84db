import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { nodesOf } from '../../projections/proofs.ts';
import { noteName, signTreeHead } from '../../src/dispatcher/sign-tree-heads.ts';
import { openCheckpoint } from '../../src/proof/checkpoint.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { expectUnbrokenChain } from '../commands/unbroken-chain.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { scaled } from '../support/proof-scale.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { consistencyProof } from './consistency-proof.ts';
import { isConsistent } from './naive-tree.ts';
import { headsOf, notesOfTest, origin, signerFor, signingOfTest } from './signing.ts';

const log = logUnderTest();
const program = fileURLToPath(new URL('signing-process.ts', import.meta.url));
const rounds = scaled(5, 100);

it(`two that sign at once are killed, ${String(rounds)} times: one head of each size, and each follows from every earlier one`, async () => {
  const notes = temporaryDirectory();
  const signing = await signingOfTest(log.store, notesOfTest(notes));
  const account = new GeneratedAccount();
  await appendAll(log.store, [...account.open(), account.invoice()]);
  let credits = 0;
  for (let round = 0; round < rounds; round += 1) {
    const start = async (): Promise<ChildProcess> => {
      const words = ['--disable-warning=ExperimentalWarning', program, log.url, signing.models.url, notes];
      const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      return child;
    };
    const children = await Promise.all([start(), start()]);
    const before = (await headsOf(log.store)).length;
    let isOver = false;
    const growing = (async () => {
      while (!isOver) await appendAll(log.store, [account.credit((credits += 1))]);
    })();
    await waitFor(async () => (await headsOf(log.store)).length >= before + 3, { what: 'heads', pollMs: 50 });
    for (const child of children) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    isOver = true;
    await growing;
  }
  await signing.models.caughtUp();
  await signTreeHead(signing);
  expectUnbrokenChain(await log.store.read('tree-heads', 0));
  const heads = await headsOf(log.store);
  const sizes = heads.map(({ size }) => size);
  expect(sizes).toEqual([...new Set(sizes)].sort((one, other) => one - other));
  expect(sizes.at(-1)).toBe(credits + 1);
  const { publicKey } = signerFor(origin);
  const opened = heads.map(({ note }) => openCheckpoint(note, [publicKey]));
  const read = nodesOf(signing.pool);
  for (const [at, later] of opened.entries()) {
    if (!later) throw new Error(`head ${String(at)} is not signed`);
    // Every earlier one while they are few, else the one before and some.
    const earlierOnes = opened.slice(0, at + 1).filter((_, index) => at - index < 3 || index % scaled(1, 50) === 0);
    for (const earlier of earlierOnes) {
      if (!earlier) continue;
      const proof = await consistencyProof(earlier.size, later.size, read);
      expect(isConsistent([earlier.size, later.size], [earlier.root, later.root], proof)).toBe(true);
    }
  }
  expect(await signing.files.readNote(noteName(origin))).toBe(heads.at(-1)?.note);
});
