import { acknowledgeDivergence } from '../commands/acknowledge-divergence.ts';
import type { DivergenceAcknowledged } from '../domain/audit-events.ts';
import { commandTimeoutMs } from './waiting.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print } from './output.ts';
import { inWords, newVerifier } from './verify.ts';
import type { VerifyDependencies } from './verify.ts';

export interface Acknowledgement {
  /** Where it was found: without it, everything is verified again to find it. */
  account?: string;
  reason: string;
  /** Case or ticket of the examination. */
  reference: string;
  /** The member of staff who answers for it. */
  by: string;
}

type Dependencies = VerifyDependencies & Pick<CliDependencies, 'newUuid'>;

/** Records that a divergence was examined: verified again, so that only what is there now can be acknowledged. */
export async function acknowledgeCommand(
  cli: Dependencies,
  id: string,
  { account, reason, reference, by }: Acknowledgement,
): Promise<void> {
  const { verifier, bar } = await newVerifier(cli, account === undefined ? {} : { account });
  await verifier.catchUp().finally(bar.end);
  const found = verifier.divergences.find(id);
  if (!found) throw new CommandFailed(`there is no divergence ${id}: "ledger verify" lists those that there are`);
  const { id: _id, known: _known, ...named } = found;
  const commandId = cli.newUuid();
  const actor = { type: 'staff', id: by, role: 'operator', reason } as const;
  await acknowledgeDivergence(cli, {
    divergence: { ...named, reference } as DivergenceAcknowledged,
    cause: { commandId, correlationId: commandId, causationId: commandId, actor },
    timeoutMs: commandTimeoutMs,
  });
  const data = { id, ...named };
  print(cli.output, data, `acknowledged: ${inWords(named)}\n\n${facts({ id, rule: named.rule, reference, by })}`);
}
