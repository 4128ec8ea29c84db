import type { Command } from 'commander';
import { listProofKeys, readNewestHead } from '../../../projections/proofs.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';

export function addShowCheckpoint(proofs: Command, run: RunCommand): void {
  proofs
    .command('checkpoint')
    .description('print the newest signed head of the log of what was closed and invoiced, to keep or to pass on')
    .action(() => run(checkpointCommand));
}

export function addListProofKeys(proofs: Command, run: RunCommand): void {
  proofs
    .command('keys')
    .description('list the public keys that have signed heads, the newest first')
    .action(() => run(keysCommand));
}

/** @throws {CommandFailed} before the first head */
export async function requireNewestHead({ pool }: Pick<CliDependencies, 'pool'>) {
  const head = await readNewestHead(pool);
  if (!head) throw new CommandFailed('no head is signed yet: see the line of "proofs" in /readyz of the dispatcher');
  return head;
}

async function checkpointCommand(cli: CliDependencies): Promise<void> {
  const head = await requireNewestHead(cli);
  print(cli.output, head, head.note.trimEnd());
}

async function keysCommand({ pool, output }: CliDependencies): Promise<void> {
  const keys = await listProofKeys(pool);
  print(output, { keys }, keys.join('\n'));
}
