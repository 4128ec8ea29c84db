/**
 * Unused user ids for the children of a worker that runs as root: none of them is ever the machine's root, since the kernel
 * lets uid 0 write to most of /proc, without a capability and from every namespace.
 */

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { lchown, lstat, mkdir, readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
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

interface Owner {
  id: number;
  reserved: Server;
}

/**
 * Takes an id for this process, whether or not one of its children runs. The kernel removes the socket with the process.
 *
 * @returns undefined where another process of this machine has it
 */
async function reserve(id: number): Promise<Server | undefined> {
  const socket = createServer().listen(`\0reeltally-user-${String(id)}`);
  socket.unref();
  try {
    await once(socket, 'listening');
    return socket;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

/**
 * @param begin the id that is tried first, counted from `firstId`: workers of one machine rarely try the same ones
 * @returns undefined where this process is not root, and so cannot start processes of another user, and where no /proc shows
 *   whose processes still run (macOS)
 */
export function openUsers(begin = randomBits(2).readUInt16BE(0) % idCount): Users | undefined {
  if (process.getuid?.() !== 0 || listPids().length === 0) return undefined;
  const named = namedIds();
  const owners = new Map<string, Promise<Owner>>();
  let next = begin;
  const choose = async (): Promise<Owner> => {
    const taken = new Set([...named, ...readOwners().flatMap(({ ids }) => ids)]);
    for (let tried = 0; tried < idCount; tried += 1) {
      const id = firstId + next;
      next = (next + 1) % idCount;
      const reserved = taken.has(id) ? undefined : await reserve(id);
      if (reserved) return { id, reserved };
    }
    throw new Error(`All users from ${firstId} on are taken.`);
  };
  const chooseFor = (directory: string): Promise<Owner> => {
    for (const [known, owner] of owners) {
      if (existsSync(known)) continue;
      owners.delete(known);
      // Whoever asked for it has heard of its failure.
      owner.then(({ reserved }) => reserved.close()).catch(() => undefined);
    }
    const owner = choose();
    owners.set(directory, owner);
    owner.catch(() => owners.delete(directory));
    return owner;
  };
  return {
    async of(directory) {
      const { id } = await (owners.get(directory) ?? chooseFor(directory));
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
