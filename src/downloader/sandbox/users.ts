/**
 * Unused user ids for the children of a worker that runs as root: none of them is ever the machine's root, since the kernel
 * lets uid 0 write to most of /proc, without a capability and from every namespace.
 */

import { existsSync, readFileSync } from 'node:fs';
import { lchown, lstat, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBits } from '../../system/clock-and-chance.ts';
import { listPids } from '../../system/processes.ts';
import { readOwners } from './resource-use.ts';

/** Both have the same number, since neither means anything to this machine. */
export interface User {
  uid: number;
  gid: number;
}

export interface Users {
  /**
   * The user of an attempt's directory, to whom the first call gives it. Each attempt has a user of its own, so that attempts can
   * neither signal nor inspect one another.
   */
  of(directory: string): Promise<User>;
  /** Present where all attempts have the same user, because namespaces keep them apart: a child becomes it in its own place. */
  shared?: User;
}

/** Distributions assign no ids of this range (systemd's "UIDS-GIDS"), and every container that maps ids maps them. */
const [firstId, idCount] = [60_880, 304];

/** Ids that users, their first groups or groups of this machine have. */
function namedIds(): number[] {
  return ['/etc/passwd', '/etc/group'].flatMap((file) => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    return lines.flatMap((line) => line.split(':').slice(2, 4).map(Number)).filter(Number.isSafeInteger);
  });
}

/**
 * @returns undefined where this process is not root, and so cannot start processes of another user, and where no /proc shows
 *   whose processes still run (macOS)
 */
export function openUsers(): Users | undefined {
  if (process.getuid?.() !== 0 || listPids().length === 0) return undefined;
  const named = namedIds();
  const owners = new Map<string, number>();
  // Two workers of one machine begin with different ids.
  let next = randomBits(2).readUInt16BE(0) % idCount;
  const choose = (): number => {
    for (const directory of owners.keys()) if (!existsSync(directory)) owners.delete(directory);
    const taken = new Set([...named, ...owners.values(), ...readOwners().flatMap(({ ids }) => ids)]);
    for (let tried = 0; tried < idCount; tried += 1) {
      const id = firstId + next;
      next = (next + 1) % idCount;
      if (!taken.has(id)) return id;
    }
    throw new Error(`All users from ${firstId} on are taken.`);
  };
  return {
    async of(directory) {
      const before = owners.get(directory);
      const id = before ?? choose();
      owners.set(directory, id);
      await give(directory, id);
      return { uid: id, gid: id };
    },
  };
}

async function give(directory: string, id: number): Promise<void> {
  if ((await lstat(directory)).uid === id) return;
  // All files of a fresh directory are ours: no child has run in it yet.
  for (const name of await readdir(directory)) await lchown(join(directory, name), id, id);
  await lchown(directory, id, id);
}

/** One user for all attempts of a worker, taken as long as the worker has this directory. */
export async function shareUser(users: Users, directory: string): Promise<Users> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const shared = await users.of(directory);
  return {
    shared,
    async of(attempt) {
      await give(attempt, shared.uid);
      return shared;
    },
  };
}
