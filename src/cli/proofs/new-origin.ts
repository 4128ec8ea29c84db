import type { Command } from 'commander';
import { beginTreeOrigin } from '../../commands/tree-heads.ts';
import { addReasonOptions, type DecidedBy, operatorOf } from '../arguments.ts';
import { type CliDependencies, requestOf, type RunCommand } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';

export function addNewOrigin(proofs: Command, run: RunCommand): void {
  const command = proofs
    .command('new-origin')
    .description(
      'sign heads under another name from now on, where a restored backup contradicts heads that were signed: everybody sees it',
    );
  addReasonOptions(command).action((decided: DecidedBy) => run((cli) => newOriginCommand(cli, decided)));
}

/** @throws {CommandFailed} where no name is known to begin with */
async function newOriginCommand(cli: CliDependencies, decided: DecidedBy): Promise<void> {
  const request = { ...requestOf(cli), actor: operatorOf(cli.actor, decided) };
  const origin = await beginTreeOrigin(cli, { base: cli.proofOrigin(), ...request });
  if (origin === undefined) throw new CommandFailed('no head was signed yet: set PROOF_ORIGIN or PROOF_SIGNING_KEY');
  print(cli.output, { origin }, `From now on, heads are signed as ${origin}`);
}
