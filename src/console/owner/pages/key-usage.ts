import { readRequestsOfKeys, type RequestsOfKey } from '../../../../projections/queries/requests-of-keys.ts';
import { listUsageOfKeys, type UsageOfKey } from '../../../../projections/queries/usage-of-keys.ts';
import { type Columns, type Html, html } from '../../../documents/html.ts';
import type { BillingPeriod } from '../../../domain/billing-period.ts';
import type { UsageSummary } from '../../../domain/usage-summary.ts';
import { keyName } from '../../download-list.ts';
import { amountCell, count, countCell, day, empty, plotFigure, rowName } from '../../parts.ts';
import { coloursOfUse, seriesByName } from '../../series-by-name.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import { type Answer, type OwnerVisit, page } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { chosenPeriod, daysOf, periodChoice } from './overview.ts';

/** Requests, downloads and cents of a billing period by API key, on each day. */

/** As many keys as an account can have. */
const maxKeys = 10_000;
const path = '/console/keys/usage';

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { shown, starts } = await chosenPeriod(visit, dependencies);
  const { accountId } = visit.session;
  const { period } = shown;
  const { pool, macs } = dependencies;
  const [downloads, { keys: requests, firstDay }] = await Promise.all([
    listUsageOfKeys(pool, { accountId, period, limit: maxKeys, macs }),
    readRequestsOfKeys(pool, { accountId, period, macs }),
  ]);
  const keys = joined(downloads, requests);
  return page({
    title: 'Usage by key',
    section: 'keys',
    islands: ['plot'],
    content: html`${periodChoice(starts, shown, { path, ...dependencies })}
    ${
      keys.length === 0
        ? empty(html`<p>Nothing was asked for in this period.</p>`)
        : html`${plots(keys, period)} ${table(keys, period)}
            <p class="soft">
              ${requestsSince(firstDay, period)} ${otherCount(keys, shown)} Requests are those to the API with the key,
              whatever they were answered. They are counted a few seconds late, and kept for 400 days. The console has
              no key, so its requests are not counted here.
            </p>`
    }`,
  });
}

/** Downloads may be older than the counts of requests. */
function requestsSince(firstDay: string | null, { start }: BillingPeriod): Html | false {
  if (firstDay === null) return html`<strong>No request has been counted yet.</strong>`;
  return firstDay > start.slice(0, 10) && html`<strong>Requests are counted since ${day(firstDay)}.</strong>`;
}

/** Of those that were given back, a period knows nothing any more. */
function otherCount(
  keys: readonly KeyUse[],
  { downloads, overage }: Pick<UsageSummary, 'downloads' | 'overage'>,
): string | false {
  const counted = downloads.used + overage.downloads;
  if (sumOf(keys, ({ usage }) => usage.downloads) <= counted) return false;
  return `Downloads are all that were queued; the overview counts ${count(counted)}, without those that were given back.`;
}

type CountsOf<Usage extends UsageOfKey | RequestsOfKey> = Omit<Usage, 'key_id' | 'key_prefix' | 'label'>;

/** A key with its downloads and its requests; it may have either alone. */
interface KeyUse extends Pick<UsageOfKey, 'key_id' | 'key_prefix' | 'label'> {
  usage: CountsOf<UsageOfKey>;
  requests: CountsOf<RequestsOfKey>;
}

function joined(downloads: readonly UsageOfKey[], requests: readonly RequestsOfKey[]): KeyUse[] {
  const noUsage: CountsOf<UsageOfKey> = { downloads: 0, overage_downloads: 0, overage_cents: 0, days: [] };
  const noRequests: CountsOf<RequestsOfKey> = { answered: 0, limited: 0, days: [] };
  const requestsById = new Map(requests.map((key) => [key.key_id, key]));
  const downloading = new Set(downloads.map((key) => key.key_id));
  return [
    ...downloads.map((key) => ({ ...key, usage: key, requests: requestsById.get(key.key_id ?? '') ?? noRequests })),
    ...requests.filter((key) => !downloading.has(key.key_id)).map((key) => ({ ...key, usage: noUsage, requests: key })),
  ];
}

const nameOf = ({ key_id: id, key_prefix: prefix, label }: KeyUse): string => {
  if (id === null) return 'the console';
  return prefix === null ? id : keyName({ key_prefix: prefix, label: label ?? '' });
};

function plots(keys: readonly KeyUse[], period: BillingPeriod): Html {
  const all = daysOf(period);
  const plotOf = (caption: string, valuesOf: (key: KeyUse) => readonly { day: string; value: number }[]) => {
    const values = keys.flatMap((key) => valuesOf(key).map((each) => ({ name: nameOf(key), ...each })));
    if (values.every(({ value }) => value === 0)) return false;
    const series = seriesByName(values, all, coloursOfUse);
    return plotFigure({ days: all.map((day) => Date.parse(day) / 1_000), series }, caption);
  };
  return html`${plotOf('Downloads of each day by key.', ({ usage }) =>
    usage.days.map(({ day, downloads: value }) => ({ day, value })),
  )}
  ${plotOf('Overage of each day by key, in dollars.', ({ usage }) =>
    usage.days.map(({ day, overage_cents: cents }) => ({ day, value: cents / 100 })),
  )}
  ${plotOf('Requests of each day by key.', ({ requests }) =>
    requests.days.map(({ day, answered: value }) => ({ day, value })),
  )}`;
}

function table(keys: readonly KeyUse[], { start, end }: BillingPeriod): Html {
  const range = `from=${start.slice(0, 10)}&to=${end.slice(0, 10)}`;
  const sums = {
    Requests: count(sumOf(keys, ({ requests }) => requests.answered)),
    'refused by the hourly limit': count(sumOf(keys, ({ requests }) => requests.limited)),
    Downloads: count(sumOf(keys, ({ usage }) => usage.downloads)),
    'beyond the plan': count(sumOf(keys, ({ usage }) => usage.overage_downloads)),
  };
  const sorted = keys.toSorted(
    (one, other) => other.usage.downloads - one.usage.downloads || other.requests.answered - one.requests.answered,
  );
  const columns: Columns<KeyUse> = {
    Key: rowName((key) =>
      key.key_id === null
        ? nameOf(key)
        : html`<a data-row href="/console/downloads?key=${key.key_id}&${range}">${nameOf(key)}</a>`,
    ),
    Requests: countCell(({ requests }) => requests.answered),
    'refused by the hourly limit': countCell(({ requests }) => requests.limited),
    Downloads: countCell(({ usage }) => usage.downloads),
    'beyond the plan': countCell(({ usage }) => usage.overage_downloads),
    Charged: amountCell(({ usage }) => usage.overage_cents),
  };
  return summedTable({ name: 'Usage by key' }, sorted, columns, { sums });
}
