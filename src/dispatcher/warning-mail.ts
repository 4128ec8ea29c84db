import type { LoggedWarning } from '../commands/record-warning-mail.ts';
import type { Mail } from '../commands/billing-ports.ts';
import { formatCents } from '../domain/money.ts';
import type { Terms } from '../domain/plans.ts';

/** What an owner is told when a pool runs out: plain text, each line short enough for any mail program. */
export function warningMail({ eventId, data, usage, time }: LoggedWarning, to: string): Mail {
  const { pool, threshold_percent: percent, used, limit } = data;
  const { terms, period, accountId } = usage;
  const what = pool === 'downloads' ? 'downloads' : 'metadata lookups';
  const isUsedUp = used >= limit;
  const from = isUsedUp ? 'From now on' : 'Once all are used';
  const lines = [
    `Your account ${accountId} has used`,
    `${String(used)} of the ${String(limit)} ${what} that its plan,`,
    `${terms.plan}, includes in a billing period: ${String(Math.floor((used * 100) / limit))} %.`,
    '',
    ...(pool === 'downloads' ? furtherDownloads(from, terms) : [`${from}, lookups are refused until the period ends.`]),
    '',
    `This period began on ${period.start.slice(0, 10)} and ends on ${period.end.slice(0, 10)}, at 00:00 UTC.`,
    'From then on what the plan includes is there again.',
    '',
    `So it stood on ${time.slice(0, 10)} at ${time.slice(11, 19)} UTC.`,
    `This mail is sent once in a period, when ${String(percent)} % are used.`,
    '',
  ];
  const share = isUsedUp ? 'All' : `${String(percent)} % of the`;
  return { id: eventId, to, subject: `${share} ${what} of this period are used`, text: lines.join('\n'), date: time };
}

/** What the next download costs, or why there is none (contract §8.3). */
function furtherDownloads(from: string, { overage_cents: rateCents, overage_cap_cents: capCents }: Terms): string[] {
  if (rateCents === null) return [`${from}, downloads are refused until the period ends.`];
  const price = `${from}, each further download costs ${formatCents(rateCents)}.`;
  if (capCents === null) return [price, 'You have set no ceiling on these charges.'];
  const ceiling = `Your ceiling on these charges is ${formatCents(capCents)} per period;`;
  return [price, ceiling, 'a download that would go beyond it is refused.'];
}
