/**
 * Users that nobody is, for the children of a worker that runs as root where no namespaces are to be had. Each attempt has
 * one of its own, so that attempts can neither signal nor look at one another.
 */

import { existsSync, readFileSync } from 'node:fs';
import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { readOwners } from './resource-use.ts';
import { randomBits } from '../../system/clock-and-chance.ts';

/** A number for both, since neither means anything to this machine. */
interface User {
  uid: number;
  gid: number;
}

export interface Users {
  /** Whose the directory of an attempt is: the first time, it is given to a user that nothing else belongs to. */
  of(directory: string): Promise<User>;
}

/** Distributions give out no ids from here (systemd's "UIDS-GIDS"), and every container that maps ids maps these. */
const [firstId, idCount] = [60_880, 304];

/** Ids with a name on this machine: of a user, of its first group, or of a group. */
function namedIds(): number[] {
  return ['/etc/passwd', '/etc/group'].flatMap((file) => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
    return lines.flatMap((line) => line.split(':').slice(2, 4).map(Number)).filter(Number.isSafeInteger);
  });
}

/** @returns undefined where this process is not root, and so cannot start another user's */
export function openUsers(): Users | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const named = namedIds();
  const owners = new Map<string, number>();
  // Two workers of a machine begin at different places.
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
      if ((await lstat(directory)).uid !== id) {
        // What is in a fresh directory is ours; no child has been here yet.
        for (const name of await readdir(directory)) await lchown(join(directory, name), id, id);
        await lchown(directory, id, id);
      }
      return { uid: id, gid: id };
    },
  };
}
