import type { LoggedWarning } from '../commands/record-warning-mail.ts';
import { formatCents } from '../domain/cents.ts';
import { lastDayOf } from '../domain/key-limits.ts';
import type { Notice } from '../domain/mail-record.ts';
import { planName, type PlanNames, type Terms } from '../domain/plans.ts';
import type { UsagePeriod } from '../domain/usage-state.ts';
import type { Mail } from '../ports/billing.ts';

type Of<Type extends Notice['type']> = Extract<Notice, { type: Type }>['data'];
type Told = Pick<LoggedWarning, 'eventId' | 'notice' | 'usage' | 'time'>;

/** The mail to an owner when a pool runs out or the overage cap is reached: plain text, lines short enough for any mail program. */
export function warningMail(
  { eventId, notice, usage, time }: Told,
  { to, publicUrl, planNames }: { to: readonly string[]; publicUrl: string; planNames: PlanNames },
): Mail {
  const { period, terms } = usage;
  const plan = planName(terms.plan, planNames);
  const {
    subject,
    text,
    next = 'The allowance of the plan is then available again.',
    last,
    help,
  } = notice.type === 'OverageCapReached' ? capReached(notice.data, usage, plan) : runsOut(notice.data, usage, plan);
  const lines = [
    ...text,
    '',
    `This period began on ${period.start.slice(0, 10)} and ends on ${period.end.slice(0, 10)}, at 00:00 UTC.`,
    next,
    '',
    help.what,
    `${publicUrl}/console/${help.path}`,
    '',
    `These figures are of ${time.slice(0, 10)}, ${time.slice(11, 19)} UTC.`,
    last,
    '',
  ];
  return { id: eventId, to, subject, text: lines.join('\n'), date: time };
}

interface Text {
  subject: string;
  text: string[];
  /** The sentence about the time after the period; default: that of the allowance. */
  next?: string;
  last: string;
  /** The page of the console that helps. */
  help: { what: string; path: string };
}

const changePlanOrCap = { what: 'To change the plan or the cap, open', path: 'settings' };

const runsOut = (warning: Of<'UsageWarningReached'>, usage: UsagePeriod, plan: string): Text =>
  warning.limited_key_id === undefined ? poolRunsOut(warning, usage, plan) : keyRunsOut(warning, usage);

/** A key has used much of the limit that its owner has set. */
function keyRunsOut(
  { pool, threshold_percent: percent, limited_key_id: keyId = '', used, limit }: Of<'UsageWarningReached'>,
  { accountId, period, terms }: UsagePeriod,
): Text {
  const isFull = percent === 100;
  const until = terms.key_limits?.[keyId]?.until ?? null;
  const endsWithPeriod = until !== null && until <= period.end;
  const amounts =
    pool === 'overage'
      ? `${formatCents(used)} of the ${formatCents(limit)} of overage`
      : `${String(used)} of the ${String(limit)} downloads`;
  return {
    subject: isFull ? 'The limit of an API key is reached' : `${String(percent)} % of the limit of an API key are used`,
    text: [
      `The key ${keyId}`,
      `of your account ${accountId} has used`,
      amounts,
      'that you allow it in a billing period.',
      '',
      `${isFull ? 'From now on' : 'Once all is used'}, what is beyond that is refused until`,
      `${endsWithPeriod ? 'the limit is raised' : 'the period ends or the limit is raised'}. Your other keys go on.`,
    ],
    next: endsWithPeriod
      ? `This key is valid through ${lastDayOf(until)}, and no longer.`
      : 'What you allow this key in a period then counts from zero again.',
    last: `This mail is sent when ${String(percent)} % are used.`,
    help: { what: 'To change the limit of this key, open', path: `keys/${keyId}/limit` },
  };
}

/** @param plan its name */
function poolRunsOut(warning: Of<'UsageWarningReached'>, { terms, accountId }: UsagePeriod, plan: string): Text {
  const { pool, threshold_percent: percent, used, limit } = warning;
  const what = pool === 'downloads' ? 'downloads' : 'metadata requests';
  const isUsedUp = used >= limit;
  const from = isUsedUp ? 'From now on' : 'Once all are used';
  const share = isUsedUp ? 'All' : `${String(percent)} % of the`;
  return {
    subject: `${share} ${what} of this period are used`,
    text: [
      `Your account ${accountId} has used`,
      `${String(used)} of the ${String(limit)} ${what} that its plan,`,
      `${plan}, includes in a billing period: ${String(Math.floor((used * 100) / limit))} %.`,
      '',
      ...(pool === 'downloads'
        ? furtherDownloads(from, terms)
        : [`${from}, metadata requests are refused until the period ends.`]),
    ],
    last: `This mail is sent when ${String(percent)} % are used.`,
    help: changePlanOrCap,
  };
}

/** @param plan its name */
function capReached(reached: Of<'OverageCapReached'>, { terms, accountId }: UsagePeriod, plan: string): Text {
  const { overage_cents: overageCents, overage_cap_cents: capCents } = reached;
  return {
    subject: 'Your cap on overage charges is reached',
    text: [
      `Your account ${accountId} has used all downloads`,
      `that its plan, ${plan}, includes in a billing period,`,
      `and further ones for ${formatCents(overageCents)}.`,
      `Your cap on these charges is ${formatCents(capCents)} per period;`,
      `one more, at ${formatCents(terms.overage_cents ?? 0)}, would exceed it.`,
      '',
      'From now on, downloads are refused until the period ends or the cap is',
      'raised.',
    ],
    last: 'This mail is sent when the cap is reached.',
    help: { what: 'To raise the cap, open', path: 'settings#cap' },
  };
}

/** The price of the next download, or the reason why there is none (contract §8.3). */
function furtherDownloads(from: string, { overage_cents: rateCents, overage_cap_cents: capCents }: Terms): string[] {
  if (rateCents === null) return [`${from}, downloads are refused until the period ends.`];
  const price = `${from}, each further download costs ${formatCents(rateCents)}.`;
  if (capCents === null) return [price, 'You have set no cap on these charges.'];
  const cap = `Your cap on these charges is ${formatCents(capCents)} per period;`;
  return [price, cap, 'a download that would exceed it is refused.'];
}
