import { listUsageOfKeys, type UsageOfKey } from '../../../../projections/queries/usage-of-keys.ts';
import { type Columns, type Html, html } from '../../../documents/html.ts';
import type { BillingPeriod } from '../../../domain/billing-period.ts';
import { keyName } from '../../download-list.ts';
import { amountCell, count, countCell, empty, plotFigure, rowName } from '../../parts.ts';
import { coloursOfUse, seriesByName } from '../../series-by-name.ts';
import { summedTable, sumOf } from '../../summed-table.ts';
import { type Answer, type OwnerVisit, page } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { chosenPeriod, daysOf, periodChoice } from './overview.ts';

/** Downloads and cents of a billing period by API key, on each day. */

/** As many keys as an account can have. */
const maxKeys = 10_000;
const path = '/console/keys/usage';

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { shown, starts } = await chosenPeriod(visit, dependencies);
  const { accountId } = visit.session;
  const keys = await listUsageOfKeys(dependencies.pool, { accountId, period: shown.period, limit: maxKeys });
  return page({
    title: 'Usage by key',
    section: 'keys',
    islands: ['plot'],
    content: html`${periodChoice(starts, shown, { path, ...dependencies })}
    ${
      keys.length === 0
        ? empty(html`<p>Nothing was downloaded in this period.</p>`)
        : html`${plots(keys, shown.period)} ${table(keys, shown.period)}`
    }`,
  });
}

const nameOf = ({ key_id: id, key_prefix: prefix, label }: UsageOfKey): string => {
  if (id === null) return 'the console';
  return prefix === null ? id : keyName({ key_prefix: prefix, label: label ?? '' });
};

function plots(keys: readonly UsageOfKey[], period: BillingPeriod): Html {
  const all = daysOf(period);
  const plotted = (valueOf: (day: UsageOfKey['days'][number]) => number) => {
    const values = keys.flatMap((key) =>
      key.days.map((each) => ({ name: nameOf(key), day: each.day, value: valueOf(each) })),
    );
    return { days: all.map((day) => Date.parse(day) / 1_000), series: seriesByName(values, all, coloursOfUse) };
  };
  const isCharged = keys.some(({ overage_cents: cents }) => cents > 0);
  return html`${plotFigure(
    plotted(({ downloads }) => downloads),
    'Downloads of each day by key.',
  )}
  ${
    isCharged &&
    plotFigure(
      plotted(({ overage_cents: cents }) => cents / 100),
      'Overage of each day by key, in dollars.',
    )
  }`;
}

function table(keys: readonly UsageOfKey[], { start, end }: BillingPeriod): Html {
  const range = `from=${start.slice(0, 10)}&to=${end.slice(0, 10)}`;
  const sums = {
    Downloads: count(sumOf(keys, (key) => key.downloads)),
    'beyond the plan': count(sumOf(keys, (key) => key.overage_downloads)),
  };
  const sorted = keys.toSorted((one, other) => other.downloads - one.downloads);
  const columns: Columns<UsageOfKey> = {
    Key: rowName((key) =>
      key.key_id === null
        ? nameOf(key)
        : html`<a data-row href="/console/downloads?key=${key.key_id}&${range}">${nameOf(key)}</a>`,
    ),
    Downloads: countCell((key) => key.downloads),
    'beyond the plan': countCell((key) => key.overage_downloads),
    Charged: amountCell((key) => key.overage_cents),
  };
  return summedTable({ name: 'Usage by key' }, sorted, columns, { sums });
}
