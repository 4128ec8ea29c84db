import { createSecretKey, randomBytes } from 'node:crypto';
import { createLocalFileStore } from '../../src/adapters/files/local-file-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import type { Figure } from './figures.ts';

const links = 50_000;

/** How many links a process can sign while it does nothing else. */
export async function benchSigning(rounds: number): Promise<Figure> {
  const files = createLocalFileStore({
    directory: '/nonexistent',
    downloadBaseUrl: () => 'https://files.example.com',
    signingKeys: { current: { id: 'bench', key: createSecretKey(randomBytes(32)) }, others: [] },
    nonce: newUuid,
  });
  const file = { token: 'a-token-of-some-length-and-more', claimRevision: 0, name: 'media.mp4' };
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    for (let link = 0; link < links; link += 1) {
      await files.link(file, { expiresAtSeconds: 1_800_000_000 + link, downloadName: 'sample-bars.mp4' });
    }
    values.push(links / ((performance.now() - startedMs) / 1000));
  }
  return { name: 'links signed in one process', unit: 'links/s', values };
}
