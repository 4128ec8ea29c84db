/**
 * A yt-dlp that an operator has put in place of the pinned one. It lies beside the verified copy of npm's package, in a folder named
 * by its hash, and a link names the one that is used: both changes are one rename.
 */

import { chmod, copyFile, mkdir, open, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeTemporaryFolder } from '../../system/disk.ts';
import { fileSha256 } from '../file-sha256.ts';
import { bundledYtDlpName, DownloaderUnusable } from './programs.ts';

const folderOf = (directory: string): string => join(directory, 'newer');
const linkOf = (directory: string): string => join(folderOf(directory), 'current');

/** A build for musl starts only by the loader of npm's package, whose launcher looks for it under this name. */
const packedIn = (folder: string, isMusl: boolean): string => join(folder, 'bin', isMusl ? bundledYtDlpName : 'yt-dlp');

/** @returns whether a program names the loader of musl, as its head says */
async function isForMusl(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(4_096), 0, 4_096, 0);
  return buffer.subarray(0, 4).toString('latin1') === '\x7fELF' && buffer.includes('/lib/ld-musl-');
}

export type StagedYtDlp = Awaited<ReturnType<typeof stageYtDlp>>;

/**
 * Copies a yt-dlp to its place, in which nothing uses it yet. Of npm's package it gets the JavaScript runtime, and what a build for
 * musl needs to start.
 *
 * @param tested path of the pinned yt-dlp
 * @returns ytDlpPath: the program to start
 */
export async function stageYtDlp(file: string, { directory, tested }: { directory: string; tested: string }) {
  await using making = await makeTemporaryFolder(join(directory, 'making-'));
  const made = join(making.path, 'made');
  const bin = join(made, 'bin');
  await mkdir(bin, { recursive: true });
  const isMusl = await isForMusl(file);
  const packed = packedIn(made, isMusl);
  await copyFile(file, packed);
  const sha256 = await fileSha256(packed);
  if (isMusl) await copyFile(tested, join(bin, 'yt-dlp'));
  for (const each of [packed, join(bin, 'yt-dlp')]) await chmod(each, 0o555);
  const links = [
    ['deno', join(bin, 'deno'), dirname(tested)],
    ['runtime', join(made, 'runtime'), join(dirname(tested), '..')],
  ] as const;
  for (const [name, path, from] of links) await symlink(join(from, name), path);
  for (const folder of [making.path, made, bin]) await chmod(folder, 0o755);
  await mkdir(folderOf(directory), { recursive: true });
  await chmod(folderOf(directory), 0o755);
  const place = join(folderOf(directory), sha256);
  await rm(place, { recursive: true, force: true });
  await rename(made, place);
  return { sha256, ytDlpPath: join(place, 'bin', 'yt-dlp') };
}

/** Makes a staged yt-dlp the one that processes use from their next start on. */
export async function useYtDlp(directory: string, { sha256 }: StagedYtDlp): Promise<void> {
  const next = `${linkOf(directory)}.next`;
  await rm(next, { force: true });
  await symlink(sha256, next);
  await rename(next, linkOf(directory));
}

/** Goes back to the pinned yt-dlp. @returns whether another one was in its place */
export async function restoreYtDlp(directory: string): Promise<boolean> {
  const before = await usedSha256(directory);
  await rm(linkOf(directory), { force: true });
  return before !== undefined;
}

const usedSha256 = (directory: string): Promise<string | undefined> =>
  readlink(linkOf(directory)).catch(() => undefined);

export const discardYtDlp = async (directory: string, { sha256 }: StagedYtDlp): Promise<void> => {
  if ((await usedSha256(directory)) !== sha256)
    await rm(join(folderOf(directory), sha256), { recursive: true, force: true });
};

/**
 * The yt-dlp that an operator has put in place of the pinned one.
 *
 * @returns undefined if there is none
 * @throws {DownloaderUnusable} if it is not the one that was tested then
 */
export async function findNewerYtDlp(directory: string): Promise<string | undefined> {
  const sha256 = await usedSha256(directory);
  if (sha256 === undefined) return undefined;
  const folder = join(folderOf(directory), sha256);
  const packed = [packedIn(folder, true), packedIn(folder, false)];
  for (const path of packed) {
    if ((await fileSha256(path).catch(() => undefined)) === sha256) return join(folder, 'bin', 'yt-dlp');
  }
  throw new DownloaderUnusable(
    `The yt-dlp in ${folder} is not the one that was installed there. Run "reeltally engine install" with its file again, or ` +
      '"reeltally engine restore" to go back to the tested one.',
  );
}

/** The SHA-256 that an installed yt-dlp had when it passed its tests; undefined for a program of another place. */
export const testedSha256Of = (ytDlpPath: string): string | undefined =>
  /\/newer\/([0-9a-f]{64})\/bin\//.exec(ytDlpPath)?.[1];
