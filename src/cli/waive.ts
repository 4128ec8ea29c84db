import { catchUp } from '../../projections/progress.ts';
import { readJob } from '../../projections/jobs.ts';
import { usageAndJobs } from '../../projections/usage-and-jobs.ts';
import { waiverName } from '../domain/settlement.ts';
import { OutcomeUnknown } from '../commands/handle.ts';
import { settlePeriod } from '../commands/settle-period.ts';
import { formatCents } from '../domain/money.ts';
import { isRefused } from '../domain/refusals.ts';
import type { Refusal } from '../domain/refusals.ts';
import { projectionTimeoutMs } from './accounts.ts';
import type { CliDependencies } from './accounts.ts';
import { CommandFailed, facts, print } from './output.ts';

export interface Waiver {
  /** Without it, all that is left of the charge. */
  cents?: number;
  reason: string;
  /** Case or ticket: the same waiver under the same reference is made once. */
  reference: string;
  /** The member of staff who decides it. */
  by: string;
}

/** The whole stream of the period is read for it, which takes its time for a large one. */
const waiverTimeoutMs = 60_000;

/** Takes back the charge of a download, or a part of it, while the books of its period are open. */
export async function waiveCommand(
  cli: CliDependencies,
  token: string,
  { cents, reason, reference, by }: Waiver,
): Promise<void> {
  const job = await findJob(cli, token);
  const { account_id, usage_stream: stream } = job;
  const commandId = cli.newUuid();
  const actor = { type: 'staff', id: by, role: 'operator', reason } as const;
  const waived = await settlePeriod(cli, {
    stream,
    command: { kind: 'waive_charge', token, cents, reference },
    cause: { commandId, correlationId: commandId, causationId: commandId, actor },
    timeoutMs: waiverTimeoutMs,
  }).catch((error: unknown) => {
    throw error instanceof OutcomeUnknown ? new CommandFailed(unknownText, 2) : error;
  });
  if (isRefused(waived)) throw new CommandFailed(refusalText(waived.refusal, { token, reference, stream }));
  const waiver = waived.state.waivers.get(waiverName({ reference, token }));
  if (!waiver) throw new Error(`the waiver ${reference} was accepted and is not there`);
  // Only what the log says of it, so that whoever repeats it reads the same.
  const data = { account_id, stream, ...waiver };
  const { cents: waivedCents, ...others } = data;
  print(cli.output, data, `${formatCents(waivedCents)} is waived\n\n${facts(others)}`);
}

const unknownText =
  'the log has not answered in time: the waiver may be stored; the same command again makes sure, and waives nothing twice';

async function findJob(cli: CliDependencies, token: string) {
  const known = await readJob(cli.pool, token);
  if (known) return known;
  const behind = !(await catchUp(cli, usageAndJobs, projectionTimeoutMs));
  const job = await readJob(cli.pool, token);
  if (job) return job;
  if (!behind) throw new CommandFailed(`there is no download ${token}`);
  throw new CommandFailed(`there is no download ${token} in the read model yet, which is behind the log`, 2);
}

function refusalText(
  refusal: Refusal,
  { token, reference, stream }: { token: string; reference: string; stream: string },
): string {
  const texts: Partial<Record<Refusal, string>> = {
    period_closed: `the books of ${stream} are closed: give the money back with "invoices credit"`,
    nothing_to_give_back: `nothing is left to waive of the charge for ${token}: it took a credit, or was given back`,
    exceeds_charge: `that is more than is left of the charge for ${token}: see "jobs timeline ${token}"`,
    reference_reused: `${reference} stands for another waiver of this period: give this one a reference of its own`,
  };
  return texts[refusal] ?? refusal;
}
