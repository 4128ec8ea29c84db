import { maxAccessRecords } from '../../../../projections/queries/download-record.ts';
import { type Html, html } from '../../../documents/html.ts';
import type { FailureReason } from '../../../domain/failure-reasons.ts';
import { downloadName, idempotencyText, keyName } from '../../download-list.ts';
import { isUnfinished } from '../../live/live-downloads.ts';
import { actorText, bytes, count, duration, exactTime, facts, money, note, statusTag, time } from '../../parts.ts';
import { accountLink, accountPath, correctionPath, downloadPath, eventAtPath, eventPath } from '../addresses.ts';
import { viewPage } from '../view.ts';
import { type Download, download as downloadView } from '../views/download.ts';
import { amountsOf, type Step, type StepKind, stepKinds } from '../views/download-steps.ts';
import { waitingNote } from './corrections.ts';

/** A download, replayed: every step from the request to whoever has looked at it. */

export const show = viewPage(downloadView, {
  title: downloadName,
  section: 'search',
  islands: ['timeline'],
  keys: ({ usage: { before, after } }) => [
    ['e', 'data of the event'],
    ...(before ? [['[', "event before, in the account's usage"] as const] : []),
    ...(after ? [[']', "event after, in the account's usage"] as const] : []),
    [',  .', 'replay: one step back, one step on'],
  ],
  content: (download, { query }) => content(download, replayOf(query)),
});

type Replay = ReturnType<typeof replayOf>;

/** What of it is shown: steps of one kind; and up to which event it is replayed. */
const replayOf = (query: URLSearchParams) => ({
  kind: stepKinds.find((kind) => kind === query.get('kind')),
  at: query.get('at') ?? undefined,
});

function content(download: Download, replay: Replay): Html {
  const { steps, answer, failure_message: failure } = download;
  // A download that goes on has these parts renewed at its end.
  return html`<div id="facts" data-renewed>${failure !== null && note('bad', failure)} ${factsOf(download)}</div>
    <h2>Where the time went</h2>
    <div id="time-spent" data-renewed>${timeSpent(download)}</div>
    <h2 id="steps">What happened</h2>
    ${filter(download, replay)} ${replayed(download, replay)} ${story(steps, download, replay)}
    <h2>The answer that a client gets now</h2>
    <p class="soft">
      The answer to <code>GET /api/v1/video/status</code>. Looking at it here does not count as a request. The link has
      no signature, and downloads nothing.
    </p>
    <pre
      id="answer"
      data-renewed
    ><code>${`HTTP ${String(answer.status)}\n\n${JSON.stringify(answer.body, null, 2)}`}</code></pre>`;
}

function factsOf(download: Download): Html {
  const { token, account_id: account, url, format, quality, status, file, key_id: key, request_id: request } = download;
  return facts([
    ['State', statusTag(status), isUnfinished(download) && html`data-state`],
    ['Account', accountLink(download)],
    ['Video', html`<a href="${url}" rel="noreferrer noopener">${url}</a>`],
    ['Asked for', html`${format}${format === 'video' && `, ${quality}`}, ${time(download.queued_at)}`],
    [
      'Request',
      html`${request !== null && html`<code>${request}</code>`}
      ${
        key !== null &&
        html`with the key
          <a href="${accountPath(account)}?found=${key}#${key}"
            >${download.key_prefix === null ? key : keyName({ key_prefix: download.key_prefix, label: download.key_label ?? '' })}</a
          >`
      }${download.has_idempotency_key === true && html`, ${idempotencyText(download.repeated_at)}`}`,
    ],
    ['Cost', cost(download)],
    file !== null && [
      'File',
      html`${file.mime},
      ${bytes(file.size_bytes)}${file.expired_at !== null && html`, no longer kept since ${time(file.expired_at)}`}`,
    ],
    ['Token', html`<code>${token}</code>`],
    ['Usage stream', neighbours(download)],
  ]);
}

function cost(download: Download): Html {
  const { overage, charged_cents: charged, given_back_cents: givenBack, left_cents: left, token, steps } = download;
  if (!overage) return html`1 credit of the plan${steps.some(isReturn) && ', given back'}${faultText(download)}`;
  if (charged === null) return html`overage`;
  return html`${money(charged)}${givenBack > 0 && `, ${money(givenBack)} given back, ${money(left)} left`}
  ${faultText(download)} ${waitingNote(download.waiting_corrections)}
  ${
    left > 0
      ? html`<p><a class="button second" href="${downloadPath(token)}/correct">Give back…</a></p>`
      : html`<p class="soft">Nothing is left to give back.</p>`
  }`;
}

const isReturn = ({ event }: Step) =>
  event !== null && ['DownloadCreditReturned', 'DownloadVoided'].includes(event.type);

/** Why the charge of a failed download stays, or does not (`failed-job-keeps-charge.ts`). */
function faultText({ failure_reason: reason, steps, overage, left_cents: left }: Download): Html | false {
  const fault = steps.findLast(({ event }) => event?.type === 'JobFailed')?.event?.data?.['fault'];
  if (reason === null || (fault !== 'video' && fault !== 'service')) return false;
  const isGivenBack = overage ? left === 0 : steps.some(isReturn);
  return html`<p class="soft">${fault === 'video' ? videoFaultText(reason) : serviceFaultText(isGivenBack)}</p>`;
}

const videoFaultText = (reason: FailureReason): string =>
  `Charged: the video or its platform was at fault.${
    reason === 'rate_limited_by_platform'
      ? ' A limit that the platform sets counts as its own doing: the service has done its work.'
      : ''
  }`;

const serviceFaultText = (isGivenBack: boolean): string =>
  isGivenBack
    ? 'Given back: the service was at fault.'
    : 'The service was at fault: it gives the charge back by itself, unless the terms of the period exclude that.';

function neighbours({ usage: { stream, before, after } }: Download): Html {
  const link = (place: typeof before, key: string, text: string) =>
    place !== null &&
    html`<li>
      <a data-key="${key}" href="${eventAtPath(place)}">${text}: ${place.type}, event ${place.revision}</a>
      <kbd>${key}</kbd>
    </li>`;
  return html`<code>${stream}</code>
    <ul class="plain">
      ${link(before, '[', 'Before')} ${link(after, ']', 'After')}
    </ul>`;
}

/** Waiting and attempts, one after the other, each as long as it took. */
function timeSpent({ steps, queued_at: queuedAt, finished_at: finishedAt }: Download): Html {
  const spans: { kind: 'wait' | 'work'; name: string; ms: number }[] = [];
  let from = Date.parse(queuedAt);
  const add = (kind: 'wait' | 'work', name: string, until: string) => {
    const ms = Date.parse(until) - from;
    if (ms > 0) spans.push({ kind, name, ms });
    from = Date.parse(until);
  };
  for (const { event, time: at, attempt } of steps) {
    if (event?.type === 'JobClaimed') add('wait', attempt === 1 ? 'Waiting' : 'pause', at);
    if (event && attempt !== null && endsOfAttempts.includes(event.type)) add('work', `attempt ${String(attempt)}`, at);
  }
  if (spans.length === 0) return html`<p class="soft">It has waited for a worker since ${time(queuedAt)}.</p>`;
  const all = spans.reduce((sum, { ms }) => sum + ms, 0);
  let at = 0;
  const rects = spans.map(({ kind, ms }) => {
    const x = at;
    at += (ms * 100) / all;
    return html`<rect
      class="${kind}"
      x="${x.toFixed(2)}%"
      width="${((ms * 100) / all).toFixed(2)}%"
      height="100%"
    ></rect>`;
  });
  const words = spans.map(({ name, ms }) => `${name}: ${duration(ms)}`).join(', ');
  return html`<svg class="spans" role="img" aria-label="${words}">${rects}</svg>
    <p class="soft">${words}${finishedAt !== null && `. ${duration(all)} in all`}.</p>`;
}

const endsOfAttempts: readonly string[] = ['JobReleased', 'JobCompleted', 'JobFailed'];

const kindNames: Readonly<Record<StepKind, string>> = {
  request: 'Request',
  money: 'Money',
  work: 'Work',
  file: 'File',
  staff: 'Staff',
};

function filter({ token, steps }: Download, { kind }: Replay): Html {
  const there = stepKinds.filter((each) => steps.some((step) => step.kind === each));
  const link = (each: StepKind | undefined, name: string) =>
    html`<a
      href="${downloadPath(token)}${each !== undefined && `?kind=${each}`}#steps"
      ${each === kind && html`aria-current="true"`}
      >${name}</a
    >`;
  return html`<div class="pages">
    <p class="choices">${link(undefined, 'All')} ${there.map((each) => link(each, kindNames[each]))}</p>
    <label class="inline" data-text-filter hidden>Text <input type="text" autocomplete="off" /></label>
  </div>`;
}

/** The download as it was after one of its events. */
function replayed({ token, steps }: Download, { at }: Replay): Html | false {
  const ids = steps.flatMap(({ event }) => event?.id ?? []);
  const index = at === undefined ? -1 : ids.indexOf(at);
  const link = (id: string | undefined, key: string, text: string) =>
    id !== undefined && html`<a data-key="${key}" href="${downloadPath(token)}?at=${id}#event-${id}">${text}</a>`;
  if (index < 0) return html`<p class="soft">${link(ids[0], '.', 'Replay from the beginning')}</p>`;
  const done = steps.slice(0, steps.findIndex(({ event }) => event?.id === at) + 1);
  const status = done.findLast((step) => step.status !== null)?.status ?? 'queued';
  const charged = done.findLast((step) => step.download_cents !== null);
  return html`<div class="note info">
    <p>
      After step ${String(index + 1)} of ${String(ids.length)}: ${statusTag(status)} ${chargedText(charged)}.
      ${link(ids[index - 1], ',', 'one step back')} ${link(ids[index + 1], '.', 'one step on')}
      <a href="${downloadPath(token)}#steps">End the replay</a>
    </p>
  </div>`;
}

/** @param charged the newest step of money */
function chargedText(charged: Step | undefined): string {
  const { download_cents: cents = null, event } = charged ?? {};
  if (cents === null) return 'nothing charged';
  if (event?.type === 'DownloadCreditDebited') return '1 credit charged';
  if (event?.type === 'DownloadCreditReturned') return 'its credit is given back';
  return `${money(cents)} charged`;
}

function story(all: readonly Step[], download: Download, { kind, at }: Replay): Html {
  const steps = kind ? all.filter((step) => step.kind === kind) : all;
  const last = steps.findLast(({ attempt }) => attempt !== null)?.attempt ?? null;
  const groups = groupsOf(steps);
  const position = all.findLast(({ event }) => typeof event?.position === 'string')?.event?.position ?? '0';
  return html`<ol
      class="timeline"
      ${isUnfinished(download) && html`data-follow="${downloadPath(download.token)}/live" data-after="${position}"`}
    >
      ${groups.map(({ fold, steps: inside }) => {
        if (fold === undefined || kind) return inside.map((step) => item(step, at));
        const isOpen = fold === last || inside.some(({ event }) => event?.id === at && at !== undefined);
        return html`<li class="folded">
          ${gapBefore(inside[0])}
          <details ${isOpen && html`open`}>
            <summary>${summaryOf(fold, inside)}</summary>
            <ol class="timeline">
              ${inside.map((step, index) => item(step, at, { hasGap: index > 0 }))}
            </ol>
          </details>
        </li>`;
      })}
    </ol>
    <p class="soft">Gaps show how much time passed, on a logarithmic scale.</p>`;
}

interface Group {
  /** An attempt, or the looks of staff; undefined for steps that are not folded. */
  fold: number | 'looks' | undefined;
  steps: Step[];
}

function groupsOf(steps: readonly Step[]): Group[] {
  const groups: Group[] = [];
  for (const step of steps) {
    const fold = step.attempt ?? (isAccessRecord(step) ? 'looks' : undefined);
    const group = groups.at(-1);
    if (group && group.fold === fold) group.steps.push(step);
    else groups.push({ fold, steps: [step] });
  }
  return groups;
}

const isAccessRecord = ({ kind, event, correction_id: correction }: Step) =>
  kind === 'staff' && event === null && correction === null;

function summaryOf(fold: number | 'looks', steps: readonly Step[]): Html {
  const [first, last] = [steps[0], steps.at(-1)];
  if (fold === 'looks')
    return html`Looked at by staff
    ${steps.length === 1 ? 'once' : `${steps.length < maxAccessRecords ? '' : 'at least '}${count(steps.length)} times`}${
      first !== undefined && first.gap_ms > 0 && `, ${duration(first.gap_ms)} later`
    }`;
  const took = first && last ? Date.parse(last.time) - Date.parse(first.time) : 0;
  const isOver = endsOfAttempts.includes(last?.event?.type ?? '');
  return html`Attempt ${String(fold)},
  ${isOver ? duration(took) : 'under way'}${isOver && `: ${last?.title ?? ''} ${last?.text ?? ''}`}`;
}

/** @param hasGap false for the first step of a fold, which has the gap */
function item(step: Step, at: string | undefined, { hasGap = true } = {}): Html {
  const { event, title, text, gap_ms: gapMs, actor, correction_id: correction } = step;
  const classes = [event?.type === 'JobFailed' && 'bad', event !== null && event.id === at && 'current'].filter(
    (each) => each !== false,
  );
  const name = html`<strong>${title}</strong>`;
  return html`<li ${event !== null && html`id="event-${event.id}"`} class="${classes.join(' ')}" data-step>
    ${hasGap && gapBefore(step)}
    <p>
      ${event ? html`<a data-row href="${eventPath(event.id)}">${name}</a>` : name} ${text}
      ${step.cents !== null && html`<span class="amounts">${amountsOf(step)}</span>`}
    </p>
    <p class="when">
      ${exactTime(step.time)}${gapMs > 0 && `, ${duration(gapMs)} later`}, by ${actorText(actor)}
      ${correction !== null && html`<a href="${correctionPath(correction)}">the correction</a>`}
    </p>
    ${event !== null && payload(event)}
  </li>`;
}

function payload({ id, type, stream, revision, data }: NonNullable<Step['event']>): Html | false {
  if (data === null || stream === null || revision === null) return false;
  return html`<details class="payload">
    <summary>${type}, event ${revision} of <code>${stream}</code></summary>
    <pre><code>${JSON.stringify({ id, data }, null, 2)}</code></pre>
  </details>`;
}

const gapBefore = (step: Step | undefined): Html | false =>
  step !== undefined &&
  step.gap_ms > 0 &&
  html`<svg class="gap" height="${String(gapHeight(step.gap_ms))}" aria-hidden="true"></svg>`;

/** In pixels: as many more for each tenfold of time. */
const gapHeight = (ms: number) => Math.round(12 * Math.log10(1 + ms / 10));
