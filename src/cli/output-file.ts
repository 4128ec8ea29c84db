import { ClientError } from '../client/client-error.ts';
import { openOutputFile, type OutputFile } from '../client/output-file.ts';
import { CommandFailed } from './output.ts';

/** What every command says about its output file. */
export const replacesFile = 'replaces an existing file';

/**
 * Writes the file of `--output`, which holds money or people's data: only this user may read a new one.
 *
 * @throws {CommandFailed} where it cannot be written; then an existing file is as it was
 */
export async function writeOutputFile(file: string, write: (output: OutputFile) => Promise<void>): Promise<void> {
  let output: OutputFile | undefined;
  try {
    output = await openOutputFile(file, { isPrivate: true });
    await write(output);
    await output.finish();
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException;
    if (error instanceof ClientError) throw new CommandFailed(error.message);
    if (syscall === 'write') throw new CommandFailed(`${file} cannot be written: ${code}`);
    throw error;
  } finally {
    await output?.close();
  }
}
