import { type Html, html, numberCell } from '../../../documents/html.ts';
import { failureReasonNames, failureReasons } from '../../../domain/failure-reasons.ts';
import { count, countCell, day, empty, figures, listTable, note, plotFigure, rowName, tag, time } from '../../parts.ts';
import { partsTable } from '../../parts-of-service.ts';
import { coloursOfFailures, seriesByName } from '../../series-by-name.ts';
import { accountLink, downloadPath } from '../addresses.ts';
import { viewPage } from '../view.ts';
import { daysShown, type Work, work } from '../views/work.ts';
import { parts } from './operation.ts';

/** The queue, the workers with what they do, and how downloads end. */

const named: typeof work = { ...work, named: ({ queue: { accounts } }) => accounts };

export const show = viewPage(named, {
  title: 'Queue and workers',
  section: 'operation',
  islands: ['plot'],
  content: (shown, _visit, { now }) =>
    html`${parts('work')}
      <h2>Parts of the service</h2>
      ${partsTable(shown.parts)} ${queue(shown.queue)} ${hours(shown.hours)} ${workers(shown.workers)}
      ${failures(shown.days, now())}`,
});

function queue({ answers, waiting, is_more: isMore, oldest, platforms, accounts }: Work['queue']): Html {
  const by = <Row extends { waiting: number; oldest: string }>(
    name: string,
    rows: readonly Row[],
    nameOf: (row: Row) => Html | string,
  ) =>
    listTable(`Waiting by ${name.toLowerCase()}`, rows, {
      [name]: rowName(nameOf),
      Waiting: countCell((row) => row.waiting),
      'Oldest since': (row) => time(row.oldest),
    });
  return html`<h2>Queue</h2>
    ${
      !answers &&
      note('warn', 'NATS does not answer. Downloads are accepted, and wait until it is back; those under way go on.')
    }
    ${figures([
      { name: 'Downloads that wait', value: `${count(waiting)}${isMore ? ' or more' : ''}` },
      { name: 'Oldest waits since', value: oldest === null ? 'none' : time(oldest) },
    ])}
    ${
      waiting > 0 &&
      html`${by('Platform', platforms, ({ name }) => name)}
      ${by('Account', accounts, (row) => accountLink(row, { isRow: true }))}`
    }`;
}

function hours(rows: Work['hours']): Html | false {
  if (rows.length === 0) return false;
  const of = (label: string, token: string, values: number[]) => ({ label, token, values });
  const plotted = {
    by: 'hour',
    days: rows.map(({ hour }) => Date.parse(hour) / 1_000),
    series: [
      of(
        'Seconds that they ran',
        'accent',
        rows.map((row) => row.ran_median),
      ),
      of(
        'Seconds that they waited',
        'warn',
        rows.map((row) => row.waited_median),
      ),
    ],
  };
  const seconds = (valueOf: (row: Work['hours'][number]) => number) =>
    numberCell((row: Work['hours'][number]) => `${valueOf(row).toFixed(1)} s`);
  return html`<h2>The last 24 hours</h2>
    <p>Of the downloads that were done, those whose file is still there: the newest 20,000 at most.</p>
    ${plotFigure(plotted, 'How long downloads waited, and ran: the median of those that were done in each hour.')}
    ${listTable('Downloads that were done, by the hour', rows.toReversed(), {
      'Hour from': rowName(({ hour }) => time(hour)),
      Done: countCell((row) => row.downloads),
      'Waited, median': seconds((row) => row.waited_median),
      'Waited, 19 of 20 at most': seconds((row) => row.waited_p95),
      'Ran, median': seconds((row) => row.ran_median),
      'Ran, 19 of 20 at most': seconds((row) => row.ran_p95),
    })}`;
}

/** A worker beats every 10 seconds. */
const quietAfterSeconds = 30;

const workers = (rows: Work['workers']): Html =>
  html`<h2>Workers</h2>
    ${listTable(
      { name: 'Workers', none: empty(html`<p>No worker has been there within a day. Downloads wait.</p>`) },
      rows,
      {
        Worker: rowName(
          ({ worker_id: id, about }) =>
            html`<code>${id}</code>${about?.host !== undefined && html`<div class="soft">${about.host}</div>`}`,
        ),
        State: (worker) => stateOf(worker.quiet_seconds),
        Downloads: ({ about, jobs }) =>
          html`${about?.slots !== undefined && html`<p>${jobs.length} of ${about.slots}</p>`}
          ${jobs.map(
            ({ token, platform, status, claimed_at: at }) =>
              html`<div><a data-row href="${downloadPath(token)}">${platform}</a>, ${status}, since ${time(at)}</div>`,
          )}`,
        Guards: ({ about }) => about !== null && guards(about),
        Versions: ({ about }) => versions(about),
      },
    )}`;

function stateOf(quiet: number | null): Html {
  if (quiet === null) return tag('lost', 'bad');
  if (quiet <= quietAfterSeconds) return tag('at work', 'good');
  return html`${tag('quiet', 'warn')} <span class="soft">for ${count(Math.round(quiet))} s</span>`;
}

function guards({ sandbox, guards: all }: NonNullable<Work['workers'][number]['about']>): Html {
  const off = all.filter(({ state }) => state !== 'on');
  return html`${sandbox !== undefined && html`<div>sandbox: ${sandbox}</div>`}
    <div>${all.length - off.length} of ${all.length} on</div>
    ${off.map(({ guard, state }) => html`<div>${tag(`${guard}: ${state}`, 'warn')}</div>`)}`;
}

const versions = (about: Work['workers'][number]['about']): Html[] =>
  Object.entries(about?.versions ?? {}).map(
    ([name, version]) => html`<div>${name} ${version ?? 'does not start'}</div>`,
  );

function failures(days: Work['days'], now: string): Html {
  const failed = days.filter(({ outcome }) => outcome !== 'done');
  if (failed.length === 0)
    return html`<h2>Failures</h2>
      <p>No download has failed in the last ${daysShown} days.</p>`;
  return html`<h2>Failures</h2>
    ${plot(failed, 'outcome', `Failed downloads of each day by reason, in the last ${String(daysShown)} days.`, now)}
    ${plot(failed, 'platform', `Failed downloads of each day by platform.`, now)} ${table(days)}`;
}

function plot(failed: Work['days'], by: 'outcome' | 'platform', caption: string, now: string): Html {
  const dates = Array.from({ length: daysShown }, (_, index) =>
    new Date(Date.parse(now) - (daysShown - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
  const values = failed.map((row) => ({ name: row[by], day: row.day, value: row.downloads }));
  const plotted = {
    days: dates.map((date) => Date.parse(date) / 1000),
    series: seriesByName(values, dates, coloursOfFailures),
  };
  return plotFigure(plotted, caption);
}

function table(days: Work['days']): Html {
  const ended = new Map<string, number>();
  const rows = new Map<string, { platform: string; outcome: string; downloads: number; last: string }>();
  for (const { platform, outcome, downloads, day } of days) {
    ended.set(platform, (ended.get(platform) ?? 0) + downloads);
    const key = `${platform} ${outcome}`;
    rows.set(key, { platform, outcome, downloads: (rows.get(key)?.downloads ?? 0) + downloads, last: day });
  }
  const shown = [...rows.values()]
    .filter(({ outcome }) => outcome !== 'done')
    .sort((one, other) => other.downloads - one.downloads);
  return listTable('Failures by platform and reason', shown, {
    Platform: rowName(({ platform }) => platform),
    Reason: ({ platform, outcome }) =>
      html`<a data-row href="/staff/corrections/outage?platform=${platform}&failure=${outcome}">${outcome}</a>`,
    Failed: countCell(({ downloads }) => downloads),
    'Share of downloads': numberCell(
      ({ platform, downloads }) => `${((downloads * 100) / (ended.get(platform) ?? 1)).toFixed(1)} %`,
    ),
    'Last day': ({ last }) => day(last),
    Meaning: ({ outcome }) => meaning(outcome),
  });
}

const meaning = (outcome: string): string => {
  const reason = failureReasonNames.find((name) => name === outcome);
  return reason ? failureReasons[reason].message : '';
};
