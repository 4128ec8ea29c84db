import { type Command, InvalidArgumentError } from 'commander';
import { acknowledgeDivergence } from '../../commands/acknowledge-divergence.ts';
import { ownCause } from '../../commands/handler/event-metadata.ts';
import { facts } from '../../documents/text.ts';
import type { DivergenceAcknowledged } from '../../domain/audit-events.ts';
import { accountIdArgument, addDecisionOptions, staffActor, type StaffDecision } from '../arguments.ts';
import type { CliDependencies, RunCommand } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';
import { commandTimeoutMs } from '../wait-for-read-models.ts';
import { inWords, newVerifier, type VerifyDependencies } from './verify.ts';

export function addAcknowledge(ledger: Command, run: RunCommand): void {
  const command = ledger
    .command('acknowledge')
    .description('record that a divergence was examined: from then on it is known, and any other is new')
    .argument('<id>', 'id of the divergence, as "ledger verify" prints it', divergenceIdArgument)
    .option(
      '--account <account>',
      'account of the divergence (default: search all accounts, which takes longer)',
      accountIdArgument,
    );
  addDecisionOptions(command, 'why it may stay').action((id: string, options: Acknowledgement) =>
    run((cli) => acknowledgeCommand(cli, id, options), { wholeTables: true }),
  );
}

function divergenceIdArgument(value: string): string {
  if (/^[0-9a-f]{16}$/.test(value)) return value;
  throw new InvalidArgumentError('an id of a divergence is 16 hexadecimal digits, as "ledger verify" prints it');
}

interface Acknowledgement extends StaffDecision {
  /** Account of the divergence; without it, everything is verified again to find it. */
  account?: string;
}

type Dependencies = VerifyDependencies & Pick<CliDependencies, 'newUuid'>;

/** Records that a divergence was examined: verified again, so that only what is there now can be acknowledged. */
async function acknowledgeCommand(
  cli: Dependencies,
  id: string,
  { account, reason, reference, by }: Acknowledgement,
): Promise<void> {
  const { verifier, bar } = await newVerifier(cli, account === undefined ? {} : { account });
  await verifier.catchUp().finally(bar.end);
  const found = verifier.divergences.find(id);
  if (!found) throw new CommandFailed(`there is no divergence ${id}: see "ledger verify"`);
  const { id: _id, known: _known, ...named } = found;
  await acknowledgeDivergence(cli, {
    divergence: { ...named, reference } as DivergenceAcknowledged,
    cause: ownCause(cli.newUuid(), staffActor({ by, reason })),
    timeoutMs: commandTimeoutMs,
  });
  const data = { id, ...named };
  print(cli.output, data, `acknowledged: ${inWords(named)}\n\n${facts({ id, rule: named.rule, reference, by })}`);
}
