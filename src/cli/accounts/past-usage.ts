import { type Moment, readPastUsage } from '../../commands/usage/usage-in-the-past.ts';
import { creditsData } from '../../documents/credits.ts';
import { facts } from '../../documents/text.ts';
import { formatCents } from '../../domain/cents.ts';
import { eventMetadata } from '../../domain/parse-event.ts';
import { summariseUsage } from '../../domain/usage-summary.ts';
import type { CliDependencies } from '../dependencies.ts';
import { CommandFailed, print } from '../output.ts';
import { usedText } from './describe-terms.ts';
import { requireAccount } from './find-account-usage.ts';

/** UTC ISO-8601, or the position of an event in the log; inclusive. */
export type AskedMoment = { time: string } | { position: bigint };

/**
 * What GET /credits would have answered at a moment of the past, with its fields, from the log alone.
 *
 * @throws {CommandFailed} before the account was opened, in the future, and for a position at which no event stands
 */
export async function pastUsageCommand(cli: CliDependencies, accountId: string, asked: AskedMoment): Promise<void> {
  const { opened } = await requireAccount(cli, accountId);
  const moment = 'time' in asked ? requirePast(cli, asked) : await readMoment(cli, asked.position);
  const [past] = await readPastUsage(cli.store, opened, [moment]);
  if (typeof past !== 'object') throw new CommandFailed(`${accountId} was not opened yet at ${nameOf(moment)}`);
  const credits = creditsData(summariseUsage(past.usage, past.now));
  const text = facts({
    plan: credits.plan,
    downloads: usedText(credits.downloads),
    metadata: usedText(credits.metadata),
    overage: `${String(credits.overage.downloads)} downloads, ${formatCents(credits.overage.cents)}`,
    period: `${credits.period_start} to ${credits.period_end}`,
  });
  print(cli.output, credits, text);
}

const nameOf = ({ time, position }: Moment): string => (position === undefined ? time : `position ${String(position)}`);

function requirePast({ now }: CliDependencies, moment: { time: string }): Moment {
  if (moment.time > now()) throw new CommandFailed(`${moment.time} is in the future: it is ${now()}`);
  return moment;
}

/** The clock of a position is the time of its event. */
async function readMoment({ store }: CliDependencies, position: bigint): Promise<Moment> {
  const head = (await store.headPosition()) ?? -1n;
  if (position > head)
    throw new CommandFailed(
      `position ${String(position)} is in the future: the newest event of the log is at ${String(head)}`,
    );
  const [event] = await store.readAll(position - 1n, 1);
  const metadata = event?.position === position ? eventMetadata.safeParse(event.metadata).data : undefined;
  if (!metadata)
    throw new CommandFailed(
      `no event stands at position ${String(position)}: ledger show and jobs timeline list positions`,
    );
  return { time: metadata.time, position };
}
