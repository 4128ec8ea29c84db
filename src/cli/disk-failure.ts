import { isPostgresAway } from '../ports/service-parts.ts';
import { CommandFailed } from './output.ts';

/**
 * Tells a failure of a disk in one sentence.
 *
 * @param path what the command reads or writes
 * @throws {CommandFailed} for a failure of a disk; all others as they are
 */
export async function sayingDisk<Made>(path: string, work: () => Promise<Made>): Promise<Made> {
  try {
    return await work();
  } catch (error) {
    if (!isOfDisk(error as NodeJS.ErrnoException)) throw error;
    throw new CommandFailed(`${path} cannot be read or written: ${(error as Error).message}`);
  }
}

/** Connections have such codes too. A pipe whose reader has gone has the same as one. */
const isOfDisk = (error: NodeJS.ErrnoException): boolean =>
  error.syscall !== undefined &&
  /^E[A-Z]+$/.test(error.code ?? '') &&
  (error.code === 'EPIPE' || !isPostgresAway(error));
