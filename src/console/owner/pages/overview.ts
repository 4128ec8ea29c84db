import type { FastifyReply } from 'fastify';
import { pageAccountPeriods, usageOfRow } from '../../../../projections/queries/account-periods.ts';
import { listUsageDays, type UsageDay } from '../../../../projections/usage-days.ts';
import { formatDays } from '../../../documents/days.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { BillingPeriod } from '../../../domain/billing-period.ts';
import { nextInvoice } from '../../../domain/next-invoice.ts';
import { planName, type Terms } from '../../../domain/plans.ts';
import { termsAt } from '../../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../../domain/usage-state.ts';
import { summarisePeriod, summariseUsage, type UsageSummary } from '../../../domain/usage-summary.ts';
import { exportAnswer, exportOf } from '../../export.ts';
import { choices } from '../../form-fields.ts';
import {
  amountCell,
  bar,
  count,
  countCell,
  day,
  type Figure,
  figures,
  money,
  plotFigure,
  rowName,
  time,
  usedFigure,
} from '../../parts.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import { type Answer, missing, type OwnerVisit, page } from '../../visit.ts';
import { currentUsage } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { periodForecast } from '../forecast.ts';
import { suspendedNote } from '../suspended-note.ts';

/** Usage and money of one billing period: the current one, or an earlier one by its first day. */

const shownPeriods = 36;

interface Shown extends Omit<UsageSummary, 'plan'> {
  isCurrent: boolean;
  terms: Terms;
}

/** The billing period that an address names by its first day, or the current one. @throws {PageRefusal} for none of the account */
export async function chosenPeriod(visit: OwnerVisit, dependencies: ConsoleDependencies) {
  const { accountId } = visit.session;
  const { pool, macs } = dependencies;
  const now = dependencies.now();
  const periods = await pageAccountPeriods(pool, { accountId, macs, limit: shownPeriods });
  const usage = await currentUsage(visit, dependencies, periods[0]?.snapshot);
  const wanted = visit.query.get('period');
  const at = wanted === null ? 0 : periods.findIndex(({ start }) => start.slice(0, 10) === wanted);
  const earlier = at > 0 ? usageOfRow(periods[at]) : undefined;
  if (at !== 0 && !earlier) throw missing();
  const shown = earlier ? ofPeriod(earlier) : ofNow(usage, now);
  return { usage, shown, starts: periods.map(({ start }) => start) };
}

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { usage, shown, starts } = await chosenPeriod(visit, dependencies);
  const { accountId } = visit.session;
  const days = await listUsageDays(dependencies.pool, { accountId, periodStart: shown.period.start });
  return page({
    title: 'Overview',
    section: 'overview',
    islands: ['plot'],
    content: html`${usage.terms.suspended && suspendedNote()}
    ${periodChoice(starts, shown, { path: '/console', ...dependencies })}
    ${figures(figuresOf(shown, usage, dependencies.now()))} ${plot(shown, days)}`,
  });
}

/** The days of the period that is shown. */
export async function saveCsv(
  visit: OwnerVisit,
  dependencies: ConsoleDependencies,
  reply: FastifyReply,
): Promise<Answer> {
  const { shown } = await chosenPeriod(visit, dependencies);
  const { accountId } = visit.session;
  const { start } = shown.period;
  const days = await listUsageDays(dependencies.pool, { accountId, periodStart: start });
  const columns = ['day', 'downloads', 'overage_downloads', 'overage_cents', 'returned_cents', 'metadata_requests'];
  const fileName = `usage-${start.slice(0, 10)}`;
  const exported = exportOf(days, { fileName, columns, about: { of: 'usage by day', period_start: start } });
  return await exportAnswer('csv', dependencies, { reply, ...visit }, exported);
}

function ofNow(usage: UsagePeriod, now: string): Shown {
  return { ...summariseUsage(usage, now), isCurrent: true, terms: termsAt(usage, now) };
}

function ofPeriod(usage: UsagePeriod): Shown {
  return { ...summarisePeriod(usage), isCurrent: false, terms: usage.terms };
}

/** @param path of the page that shows one of the periods */
export function periodChoice(
  starts: readonly string[],
  { period, terms }: { period: BillingPeriod; terms: Pick<Terms, 'plan'> },
  { path, planNames }: { path: string } & Pick<ConsoleDependencies, 'planNames'>,
): Html {
  const at = starts.findIndex((start) => start === period.start);
  const older = starts[at + 1];
  const newer = at > 0 ? starts[at - 1] : undefined;
  const link = (start: string | undefined, text: string) =>
    start !== undefined && html`<a href="${path}?period=${start.slice(0, 10)}">${text}</a>`;
  return html`<div class="pages">
    <p>
      <strong>${formatDays(period.start, period.end)}</strong>, plan <strong>${planName(terms.plan, planNames)}</strong>
    </p>
    <p>${link(older, '← earlier')} ${link(newer, 'later →')}</p>
    ${
      starts.length > 2 &&
      html`<form method="get" action="${path}" class="filters">
        ${choices(
          'period',
          period.start.slice(0, 10),
          starts.map((start) => [start.slice(0, 10), `from ${start.slice(0, 10)}`]),
          'Billing period',
        )}
        <button class="second">Show</button>
      </form>`
    }
  </div>`;
}

function figuresOf(shown: Shown, usage: UsagePeriod, now: string): Figure[] {
  const { period, terms, downloads, metadata, overage, isCurrent } = shown;
  const { overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  const range = `from=${period.start.slice(0, 10)}&to=${period.end.slice(0, 10)}`;
  const forecast = isCurrent ? periodForecast(shown, now) : undefined;
  return [
    {
      name: 'Downloads',
      value: html`<a href="/console/downloads?${range}">${count(downloads.used)}</a>`,
      of: `of ${count(downloads.limit)} in the plan`,
      bar: bar('Downloads of the plan', downloads.used, downloads.limit),
      details: [
        `${count(downloads.remaining)} left`,
        forecast && `At this pace ${count(forecast.downloads)} by the end of the period`,
      ],
    },
    {
      name: 'Overage',
      value: html`<a href="/console/downloads?${range}&overage=yes">${money(overage.cents)}</a>`,
      of: `for ${count(overage.downloads)} ${overage.downloads === 1 ? 'download' : 'downloads'}`,
      bar: capCents !== null && bar('Overage cap, in cents', overage.cents, capCents),
      details: [
        rateCents === null
          ? 'Downloads stop at the allowance of this plan'
          : `${money(rateCents)} for each download beyond the plan`,
        capText(shown),
        forecast && rateCents !== null
          ? `At this pace ${money(forecast.overageCents)} by the end of the period`
          : undefined,
      ],
    },
    usedFigure('Metadata requests', metadata, {
      details: [`${count(metadata.remaining)} left; beyond that they are refused`],
    }),
    ...(isCurrent ? [nextInvoiceFigure(usage, now)] : []),
  ];
}

function capText({ terms, overage: { cents }, isCurrent }: Shown): Html | string | undefined {
  const { overage_cents: rateCents, overage_cap_cents: capCents } = terms;
  if (rateCents === null) return undefined;
  const left = capCents === null ? undefined : Math.max(0, Math.floor((capCents - cents) / rateCents));
  if (!isCurrent)
    return capCents === null ? 'No cap was set' : `Cap ${money(capCents)}${left === 0 ? ', reached' : ''}`;
  if (capCents === null) return html`No cap is set. <a href="/console/settings#cap">Set one</a>`;
  return html`Cap ${money(capCents)}:
    ${left === 0 ? 'reached, downloads stop' : `${count(left ?? 0)} more downloads fit`}.
    <a href="/console/settings#cap">Change</a>`;
}

/** The total of the next invoice if the period ended now: its lines are on the draft. */
const nextInvoiceFigure = (usage: UsagePeriod, now: string): Figure => ({
  name: 'Next invoice, so far',
  value: html`<a href="/console/invoices/draft">${money(nextInvoice(usage, now).total_cents)}</a>`,
  details: [html`Issued after ${time(summariseUsage(usage, now).period.end)}`],
});

function plot({ period, terms, overage }: Shown, days: readonly UsageDay[]): Html {
  if (days.length === 0) return html`<p class="soft">Nothing was used in this period.</p>`;
  const { downloads_limit: limit } = terms;
  const byDay = new Map(days.map((each) => [each.day, each.downloads]));
  const last = days.at(-1)?.day ?? '';
  const all = daysOf(period);
  let sum = 0;
  // Days that are still to come have no values yet.
  const sums = all.map((each) => (each > last ? null : (sum += byDay.get(each) ?? 0)));
  const series = [
    {
      label: 'Downloads a day',
      token: 'accent',
      values: all.map((each) => (each > last ? null : (byDay.get(each) ?? 0))),
    },
    { label: 'Downloads so far', token: 'info', as: 'line', values: sums },
    // A line far above everything would flatten all else.
    ...(limit <= 3 * sum ? [{ label: 'Allowance', token: 'warn', as: 'line', values: all.map(() => limit) }] : []),
  ];
  const plotted = { days: all.map((each) => Date.parse(each) / 1000), series };
  return html`<h2>Day by day</h2>
    ${plotFigure(plotted, `Downloads of each day, and their sum beside the allowance of ${count(limit)}.`)}
    <p class="pages">
      <a href="/console/usage.csv?period=${period.start.slice(0, 10)}" download>All of these days as CSV</a>
    </p>
    ${summedTable(
      { name: 'Usage by day' },
      days,
      {
        'Day (UTC)': rowName(
          (each) =>
            html`<a data-row href="/console/downloads?from=${each.day}&to=${nextDay(each.day)}">${day(each.day)}</a>`,
        ),
        Downloads: countCell((each) => each.downloads),
        'beyond the plan': countCell((each) => each.overage_downloads),
        Charged: amountCell((each) => each.overage_cents),
        'Given back': amountCell((each) => -each.returned_cents),
        'Metadata requests': countCell((each) => each.metadata_requests),
      },
      {
        sums: {
          Downloads: count(sumOf(days, (each) => each.downloads)),
          'beyond the plan': count(sumOf(days, (each) => each.overage_downloads)),
          'Metadata requests': count(sumOf(days, (each) => each.metadata_requests)),
        },
      },
    )}
    <p class="soft">Charges less what was given back are the overage of the period: ${money(overage.cents)}.</p>
    <p><a href="/console/keys/usage?period=${period.start.slice(0, 10)}">By key and day</a></p>`;
}

export function daysOf({ start, end }: BillingPeriod): string[] {
  const days: string[] = [];
  for (let each = start.slice(0, 10); each < end.slice(0, 10); each = nextDay(each)) days.push(each);
  return days;
}

const nextDay = (each: string) => new Date(Date.parse(each) + 86_400_000).toISOString().slice(0, 10);
