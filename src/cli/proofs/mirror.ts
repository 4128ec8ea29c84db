import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { listProofKeys } from '../../../projections/proofs.ts';
import { readTile } from '../../../projections/queries/tiles.ts';
import { emptyFrontier, rootOfFrontier, withNextLeaf } from '../../proof/merkle-tree.ts';
import { entriesOfBundle, tilePath, tilesOf } from '../../proof/tiles.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';
import { requireNewestHead } from './show.ts';

export function addMirror(proofs: Command, run: RunCommand): void {
  proofs
    .command('mirror')
    .description(
      'write the signed log as files of C2SP tlog-tiles into a folder, or add to them, to keep it out of reach of the service',
    )
    .argument('<folder>', 'the folder, which may have an earlier state of the log')
    .action((folder: string) => run((cli) => mirrorCommand(cli, folder), { wholeTables: true }));
}

/**
 * Writes tiles first and the checkpoint last, so that a mirror is always one of what its checkpoint says.
 *
 * @throws {CommandFailed} with 1 where the log contradicts what the folder has: then nothing more is written
 */
async function mirrorCommand(cli: CliDependencies, folder: string): Promise<void> {
  const { pool, output } = cli;
  const { size, root, note } = await requireNewestHead(cli);
  let frontier = emptyFrontier;
  let written = 0;
  for (const tile of tilesOf(size)) {
    const bytes = await readTile(pool, tile);
    if (tile.level === 'entries') frontier = entriesOfBundle(bytes).reduce(withNextLeaf, frontier);
    const path = join(folder, 'tile', tilePath(tile));
    const kept = await readFile(path).catch(ignoreMissing);
    if (kept?.equals(bytes)) continue;
    if (kept) throw new CommandFailed(`${path} is another than the log has now: see "ledger verify --checkpoint"`);
    await write(path, bytes);
    written += 1;
  }
  if (rootOfFrontier(frontier).toString('hex') !== root)
    throw new CommandFailed(`the entries in Postgres are not those of the signed head of ${String(size)} leaves`);
  await write(join(folder, 'keys'), (await listProofKeys(pool)).map((key) => `${key}\n`).join(''));
  await write(join(folder, `checkpoint-${String(size)}`), note);
  await write(join(folder, 'checkpoint'), note);
  print(output, { folder, size, root, tiles_written: written }, `${folder} has the log of ${String(size)} leaves`);
}

async function write(path: string, contents: Buffer | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.incomplete`, contents, { flush: true });
  await rename(`${path}.incomplete`, path);
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
