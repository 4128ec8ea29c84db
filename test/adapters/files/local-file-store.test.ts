import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  fileLinksContract,
  fileStoreContract,
  finishedFile,
  type ServingStore,
  tokensIn,
} from './file-store-contract.ts';
import { downloadBaseUrl, serveLocalStore, signingKey } from './local-file-store.ts';

function open(): Promise<ServingStore> {
  const { store, server } = serveLocalStore({ current: signingKey('k1'), others: [] });
  return Promise.resolve({
    store,
    async fetchLink(link) {
      const response = await server.inject({ url: link.slice(downloadBaseUrl.length) });
      if (response.statusCode !== 200) return undefined;
      const { 'content-type': mime = '', 'content-disposition': disposition = '' } = response.headers;
      return { body: response.rawPayload, mime, disposition };
    },
  });
}

fileStoreContract('a local directory', open);
fileLinksContract('a local directory', open);

describe('a local directory', () => {
  test('holds nothing but the files, and no empty folders after a purge', async () => {
    const { store, directory } = serveLocalStore({ current: signingKey('k1'), others: [] });
    const key = { token: 'token', claimRevision: 2, name: 'media.mp3' };
    await store.put(key, finishedFile('x'), 'audio/mpeg');
    expect(readdirSync(directory, { recursive: true }).sort()).toEqual(['token', 'token/2', 'token/2/media.mp3']);
    await store.purge('token');
    expect(readdirSync(directory)).toEqual([]);
  });

  test('lists and purges what a put left that was interrupted, and nothing that is not its own', async () => {
    const { store, directory } = serveLocalStore({ current: signingKey('k1'), others: [] });
    rmSync(directory, { recursive: true });
    expect(await tokensIn(store)).toEqual([]);
    mkdirSync(join(directory, 'token', '4'), { recursive: true });
    mkdirSync(join(directory, 'lost+found.d'));
    writeFileSync(join(directory, 'README'), 'of the operator');
    writeFileSync(join(directory, 'token', '4', '.media.mp4.incoming'), 'half');
    expect(await tokensIn(store)).toEqual(['token']);
    expect(await store.purge('token')).toEqual({ files: 1, bytes: 4 });
    expect(readdirSync(directory).sort()).toEqual(['README', 'lost+found.d']);
  });

  test('refuses a file whose kind does not fit its name', async () => {
    const { store } = serveLocalStore({ current: signingKey('k1'), others: [] });
    const key = { token: 'token', claimRevision: 2, name: 'media.mp3' };
    await expect(store.put(key, '/nowhere', 'text/html')).rejects.toThrow(RangeError);
  });

  test('takes a file over from another disk', async (context) => {
    const { store, directory } = serveLocalStore({ current: signingKey('k1'), others: [] });
    const elsewhere = statSync('/dev/shm', { throwIfNoEntry: false });
    if (elsewhere === undefined || elsewhere.dev === statSync(directory).dev) {
      context.skip('this machine has one disk only');
      return;
    }
    const source = mkdtempSync('/dev/shm/reeltally-test-');
    onTestFinished(() => rmSync(source, { recursive: true, force: true }));
    writeFileSync(join(source, 'x'), 'from afar');
    const key = { token: 'token', claimRevision: 0, name: 'media.mp4' };
    await store.put(key, join(source, 'x'), 'video/mp4');
    expect(await store.sizeBytes(key)).toBe(9);
    expect(readdirSync(source)).toEqual([]);
    expect(readdirSync(join(directory, 'token', '0'))).toEqual(['media.mp4']);
  });
});
