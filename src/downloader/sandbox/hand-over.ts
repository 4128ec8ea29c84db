/** Children that another process forks into namespaces which a process here, the holder, keeps for them. */

import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { type AllNamespaces, jobDescriptor } from './launch.ts';

export interface Forked {
  /** The process that waits for the child, and leads the group in which both are. */
  leader: number;
  /** Rejects if what forked it has ended, and the child with that. */
  exitCode: Promise<number>;
}

export interface Forker {
  /** Those in which the holder must be. */
  namespaces: AllNamespaces;
  /**
   * Forks a child that enters the holder's namespaces, takes over its outputs and does its job.
   *
   * @param holder a process number
   * @param mark that of its run
   * @throws when nothing can be forked any more
   */
  fork(holder: number, mark: number): Promise<Forked>;
}

/** The work of a child. The holder passes it on, so that nothing of it is in the process from which others are forked too. */
export interface Job {
  arguments: readonly string[];
  directory: string;
  environment: Readonly<Record<string, string>>;
  /** As whom it is done, if not as the user whom the namespaces call root. */
  user: number | undefined;
  /** Refuses system calls; in hexadecimal. */
  filter: string | undefined;
}

/** Of a holder without a child. */
const lostCode = 125;

/**
 * Waits until the holder has made its namespaces, has the child forked, and lets the holder end as the child does.
 *
 * @returns undefined if the holder ends first, which says why
 */
export async function handOver(
  holder: ChildProcess,
  { forker, mark, job }: { forker: Forker; mark: number; job: Job },
): Promise<Forked | undefined> {
  const streams: readonly unknown[] = holder.stdio;
  const channel = streams[jobDescriptor];
  if (!(channel instanceof Socket) || holder.pid === undefined) throw new Error('a holder has a channel for the job');
  channel.on('error', () => undefined);
  holder.stdin?.on('error', () => undefined);
  const isInPlace = new Promise<boolean>((resolve) => {
    channel.once('data', () => resolve(true)).once('close', () => resolve(false));
  });
  if (!(await isInPlace)) return undefined;
  channel.write(`${JSON.stringify(job)}\n`);
  const end = (code: number) => holder.stdin?.end(`${code}\n`);
  try {
    const forked = await forker.fork(holder.pid, mark);
    forked.exitCode.then(end, () => end(lostCode));
    return forked;
  } catch (error) {
    end(lostCode);
    throw error;
  }
}
