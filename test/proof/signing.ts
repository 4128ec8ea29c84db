import { createSecretKey } from 'node:crypto';
import { proofs } from '../../projections/proofs.ts';
import { createLocalFileStore } from '../../src/adapters/files/local-file-store.ts';
import type { SignTreeHeadsDependencies } from '../../src/dispatcher/sign-tree-heads.ts';
import { parseTreeHeadEvent } from '../../src/domain/parse-event.ts';
import { type TreeHeadSigned, treeHeadsStream } from '../../src/domain/tree-head-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { signerOf } from '../../src/proof/signed-note.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { readModelsOfTest, silent, type TestReadModels } from '../projections/read-models-under-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const seed = Buffer.alloc(32, 7);
export const origin = 'reeltally.test/tlog';
export const signerFor = (name: string) => signerOf(name, seed);

/** A file store that only keeps notes. */
export const notesOfTest = (directory = temporaryDirectory()) =>
  createLocalFileStore({
    directory,
    downloadBaseUrl: () => '',
    signingKeys: { current: { id: 'a', key: createSecretKey(Buffer.alloc(32)) }, others: [] },
    nonce: newUuid,
  });

export interface Signing extends SignTreeHeadsDependencies {
  models: TestReadModels;
}

/** What signs the heads of a log, with read models of its own. */
export async function signingOfTest(store: EventStore, files = notesOfTest()): Promise<Signing> {
  const models = await readModelsOfTest(store, [proofs]);
  const parts = { store, pool: models.pool, files, origin, signerFor, newUuid, logger: silent };
  return { ...parts, models, now: () => new Date().toISOString() };
}

/** Every head of a log, in order. */
export async function headsOf(store: EventStore): Promise<TreeHeadSigned[]> {
  const events = (await store.read(treeHeadsStream, 0)).map(parseTreeHeadEvent);
  return events.flatMap(({ event }) => (event.type === 'TreeHeadSigned' ? [event.data] : []));
}
