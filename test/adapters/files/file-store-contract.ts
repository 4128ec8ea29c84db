import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FileKey, FileStore } from '../../../src/ports/files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export interface StoreUnderTest {
  store: FileStore;
}

export interface ServingStore extends StoreUnderTest {
  /** Follows a link as a client would; undefined when it serves nothing. */
  fetchLink: (link: string) => Promise<{ body: Buffer; mime: string; disposition: string } | undefined>;
}

export const inAnHourSeconds = () => Math.floor(Date.now() / 1000) + 3600;

/** A finished file as a worker hands it over. */
export function finishedFile(content: Buffer | string): string {
  const path = join(temporaryDirectory(), 'media.mp4');
  writeFileSync(path, content);
  return path;
}

export function freshKey(claimRevision = 0): FileKey {
  return { token: `token_-${randomUUID()}`, claimRevision, name: 'media.mp4' };
}

/** Every token that a store lists. */
export const tokensIn = async (store: FileStore): Promise<string[]> => (await Array.fromAsync(store.tokens())).flat();

/** Tests the promises of the port (src/ports/files.ts), of a real store or of the simulated one. */
export function fileStoreContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} as a file store`, () => {
    test('has nothing that was not put there', async () => {
      const { store } = await open();
      expect(await store.sizeBytes(freshKey())).toBeUndefined();
    });

    test('takes a file over', async () => {
      const { store } = await open();
      const [key, path] = [freshKey(), finishedFile('a film')];
      await store.put(key, path, 'video/mp4');
      expect(existsSync(path)).toBe(false);
      expect(await store.sizeBytes(key)).toBe(6);
    });

    test('keeps the newest of each note, which is no file of a token', async () => {
      const { store } = await open();
      const name = `note-${randomUUID()}`;
      expect(await store.readNote(name)).toBeUndefined();
      await store.keepNote(name, 'first\n');
      await store.keepNote(name, 'second — 2\n');
      expect(await store.readNote(name)).toBe('second — 2\n');
      expect(await tokensIn(store)).not.toContain('signed.notes');
      await expect(store.keepNote('../note', '')).rejects.toThrow(RangeError);
    });

    test('gives another link at every call', async () => {
      const { store } = await open();
      const [key, served] = [freshKey(), { expiresAtSeconds: inAnHourSeconds(), downloadName: 'a.mp4' }];
      expect(await store.link(key, served)).not.toBe(await store.link(key, served));
    });

    test('puts the same file twice without harm', async () => {
      const { store } = await open();
      const key = freshKey();
      await store.put(key, finishedFile('first'), 'video/mp4');
      await store.put(key, finishedFile('second'), 'video/mp4');
      expect(await store.sizeBytes(key)).toBe(6);
    });

    test('keeps the attempts at one job apart, and purges all but one', async () => {
      const { store } = await open();
      const first = freshKey(0);
      const [second, other] = [{ ...first, claimRevision: 3 }, freshKey()];
      await store.put(first, finishedFile('1'), 'video/mp4');
      await store.put(second, finishedFile('22'), 'video/mp4');
      await store.put(other, finishedFile('333'), 'video/mp4');
      expect(await store.purge(first.token, second)).toEqual({ files: 1, bytes: 1 });
      expect(await store.sizeBytes(first)).toBeUndefined();
      expect(await store.sizeBytes(second)).toBe(2);
      expect(await store.purge(first.token)).toEqual({ files: 1, bytes: 2 });
      expect(await store.purge(first.token)).toEqual({ files: 0, bytes: 0 });
      expect(await store.sizeBytes(second)).toBeUndefined();
      expect(await store.sizeBytes(other)).toBe(3);
    });

    test('lists each token of which it keeps anything, once', async () => {
      const { store } = await open();
      const [one, other, gone] = [freshKey(), freshKey(), freshKey()];
      for (const key of [one, { ...one, claimRevision: 3 }, other, gone])
        await store.put(key, finishedFile('a film'), 'video/mp4');
      await store.purge(gone.token);
      expect((await tokensIn(store)).sort()).toEqual([one.token, other.token].sort());
    });

    test('removes one file, and does not mind when it is gone', async () => {
      const { store } = await open();
      const first = freshKey(1);
      const second = { ...first, claimRevision: 2 };
      await store.put(first, finishedFile('1'), 'video/mp4');
      await store.put(second, finishedFile('22'), 'video/mp4');
      await store.remove(first);
      await store.remove(first);
      expect(await store.sizeBytes(first)).toBeUndefined();
      expect(await store.sizeBytes(second)).toBe(2);
    });

    test.each([
      { token: '..' },
      { token: '' },
      { token: 'a/b' },
      { name: '../media.mp4' },
      { name: '.media.mp4' },
      { name: 'media.html' },
      { claimRevision: -1 },
      { claimRevision: 0.5 },
    ])('has no place for %j', async (part) => {
      const { store } = await open();
      const key = { ...freshKey(), ...part };
      await expect(store.put(key, finishedFile('x'), 'video/mp4')).rejects.toThrow(RangeError);
      await expect(store.link(key, { expiresAtSeconds: 1, downloadName: 'a.mp4' })).rejects.toThrow(RangeError);
    });
  });
}

/** Tests what clients get by the links of a real store. */
export function fileLinksContract(name: string, open: () => Promise<ServingStore>): void {
  describe(`a link of ${name}`, () => {
    test('serves the file under the wanted name', async () => {
      const { store, fetchLink } = await open();
      const key = freshKey();
      await store.put(key, finishedFile('a film'), 'video/mp4');
      const link = await store.link(key, { expiresAtSeconds: inAnHourSeconds(), downloadName: 'Bars & "more" ö.mp4' });
      const served = await fetchLink(link);
      expect(served?.body.toString()).toBe('a film');
      expect(served?.mime).toBe('video/mp4');
      expect(served?.disposition).toMatch(/^attachment;/);
      expect(served?.disposition).toContain(`Bars%20%26%20%22more%22%20%C3%B6.mp4`);
    });

    test('serves nothing once the file is removed', async () => {
      const { store, fetchLink } = await open();
      const key = freshKey();
      await store.put(key, finishedFile('a film'), 'video/mp4');
      const link = await store.link(key, { expiresAtSeconds: inAnHourSeconds(), downloadName: 'a.mp4' });
      await store.remove(key);
      expect(await fetchLink(link)).toBeUndefined();
    });
  });
}
