import { type ApiKeyRow, readApiKey } from '../../../../projections/api-keys.ts';
import { type AccountInvoices, readInvoices } from '../../../../projections/invoices.ts';
import { hasIdempotencyKey, repeatedAt, type TimelineRow } from '../../../../projections/job-timeline.ts';
import type { JobRow } from '../../../../projections/jobs.ts';
import { type AccountDownload, readAccountDownload } from '../../../../projections/queries/account-downloads.ts';
import { linkToFile } from '../../../commands/link-to-file.ts';
import { type Html, html } from '../../../documents/html.ts';
import { type ChargeChange, chargeChanges, describeEvent, eventTitle } from '../../../documents/job-story.ts';
import { type FailureReason, failureReasons } from '../../../domain/failure-reasons.ts';
import { costText, downloadName, idempotencyText, keyName } from '../../download-list.ts';
import { isUnfinished } from '../../live/live-downloads.ts';
import { actorText, bytes, facts, money, note, statusTag, time } from '../../parts.ts';
import { sumOf } from '../../summed-table.ts';
import { type Answer, away, missing, type OwnerVisit, page, PageRefusal, redirect } from '../../visit.ts';
import type { ConsoleDependencies } from '../dependencies.ts';

/** One download: its state, what it costs, its file, and every event that it is made of. */

export async function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const found = await readAccountDownload(dependencies.pool, { accountId, token: visit.params['token'] ?? '' });
  if (!found) throw missing();
  const { download, timeline } = found;
  const mayBeCredited = download.overage && timeline.length > 0;
  const notes = mayBeCredited ? (await readInvoices(dependencies.pool, accountId)).creditNotes : [];
  const keyId = download.key_id;
  const key =
    keyId === null ? undefined : await readApiKey(dependencies.pool, { accountId, keyId, macs: dependencies.macs });
  return page({
    title: downloadName(download),
    section: 'downloads',
    islands: ['live'],
    content: content(found, { notes, key }, dependencies),
  });
}

function content(
  { download, timeline }: AccountDownload,
  { notes, key }: { notes: AccountInvoices['creditNotes']; key: Pick<ApiKeyRow, 'key_prefix' | 'label'> | undefined },
  { origins }: ConsoleDependencies,
): Html {
  const { token, status, url, format, quality, queued_at: queuedAt, failure_reason: reason, key_id: keyId } = download;
  const charge = timeline.find(({ cents }) => cents !== null);
  const corrections = chargeChanges(timeline, notes);
  const givenBack = givenBackOf(download, corrections);
  const curl = `curl -sS -H "Authorization: Bearer $REELTALLY_KEY" \\\n  "${origins.own}/api/v1/video/status?token=${token}"`;
  return html`${reason !== null && failure(reason, download, givenBack)}
    ${facts([
      ['State', statusTag(status), isUnfinished(download) && html`data-live="${token}" data-reload-at-end`],
      status === 'done' && ['File', file(download)],
      ['Video', html`<a href="${url}" rel="noreferrer noopener">${url}</a>`],
      ['Asked for', html`${format}${format === 'video' && `, ${quality}`}`],
      ['Queued', time(queuedAt)],
      [
        'Cost',
        html`${netText(download, givenBack)}${charge && html`, <a href="#event-${charge.event_id}">charged here</a>`}
        ${correctionList(corrections)}`,
      ],
      ['Token', html`<code>${token}</code>`],
      keyId !== null && ['API key', html`<a href="/console/downloads?key=${keyId}">${key ? keyName(key) : keyId}</a>`],
      hasIdempotencyKey(timeline) === true && ['Request', idempotencyText(repeatedAt(timeline))],
    ])}
    <h2>What happened</h2>
    ${story(timeline)}
    <h2>The same from a program</h2>
    <pre><code>${curl}</code></pre>`;
}

const file = ({ token, file_mime: mime, file_size_bytes: size, file_expired_at: expiredAt }: JobRow): Html =>
  html`${mime ?? ''}, ${bytes(size ?? 0)}
  ${
    expiredAt === null
      ? html`<p><a class="button" href="/console/downloads/${token}/file">Save the file</a></p>`
      : html`<p class="soft">No longer kept since ${time(expiredAt)}. <a href="/console/try">Download it again</a></p>`
  }`;

const advice: Readonly<Record<FailureReason, string>> = {
  video_unavailable: 'Check the address in a browser. If the video is there, tell us the token below.',
  private_video: 'Ask its owner to make it public; then download it again.',
  login_required: 'Videos behind a sign-in cannot be downloaded.',
  age_restricted: 'Videos that ask for an age cannot be downloaded.',
  geo_blocked: 'Look for the same video without such a limit.',
  live_stream: 'Download it again once the stream has ended.',
  too_large: 'Ask for a lower quality, or for the audio alone.',
  too_long: 'Look for a shorter version.',
  drm_protected: 'Protected videos cannot be downloaded.',
  unsupported_media: 'Ask for the other format, or check that the address is that of a single video.',
  platform_error: 'It was tried three times. Download it again later.',
  rate_limited_by_platform: 'Download it again later.',
  timed_out: 'Ask for a lower quality, or download it again later.',
  voided: 'Download it again.',
  internal_error: 'Download it again. If it fails again, tell us the token below.',
};

/** What was given back of a download's cost: cents of its charge, or its credit. */
interface GivenBack {
  cents: number;
  isCredit: boolean;
}

const givenBackOf = ({ overage }: JobRow, corrections: readonly ChargeChange[]): GivenBack => ({
  cents: sumOf(corrections, ({ cents }) => cents),
  isCredit: !overage && corrections.length > 0,
});

/** What a download costs in the end, and what of. */
function netText(download: JobRow, { cents, isCredit }: GivenBack): string {
  if (isCredit) return 'nothing: 1 credit, which was given back';
  if (cents === 0) return costText(download);
  return `${money((download.cents ?? 0) - cents)}: ${costText(download)}, of which ${money(cents)} was given back`;
}

function failure(reason: FailureReason, download: JobRow, givenBack: GivenBack): Html {
  return note(
    'bad',
    `${failureReasons[reason].message} ${advice[reason]} ${chargeOfFailure(reason, download, givenBack)}`,
  );
}

function chargeOfFailure(
  reason: FailureReason,
  { overage, cents: charged }: JobRow,
  { cents, isCredit }: GivenBack,
): string {
  if (isCredit) return 'Its credit was given back.';
  if (cents > 0 && cents === charged) return `Its charge of ${money(cents)} was given back.`;
  if (cents > 0) return `Of its charge, ${money(cents)} was given back.`;
  if (reason === 'internal_error' || reason === 'voided') return 'What it cost is given back.';
  return `${overage ? 'Its charge stays' : 'Its credit stays taken'}: a download is charged when it is queued.`;
}

const correctionList = (corrections: readonly ChargeChange[]): Html | false =>
  corrections.length > 0 &&
  html`<ul>
    ${corrections.map(({ time: at, text }) => html`<li>${time(at)}: ${text}</li>`)}
  </ul>`;

function story(timeline: readonly TimelineRow[]): Html {
  return html`<ol class="timeline">
    ${timeline.map(
      (event, index) =>
        html`<li id="event-${event.event_id}" class="${event.type === 'JobFailed' && 'bad'}">
          <p><strong>${eventTitle(event.type)}</strong> ${describeEvent(event)}</p>
          <p class="when">${time(event.time)}${gap(timeline[index - 1], event)}, by ${actorText(event.actor)}</p>
          <details>
            <summary>Event ${event.revision} of <code>${event.stream}</code></summary>
            <pre><code>${JSON.stringify({ id: event.event_id, type: event.type, data: event.data }, null, 2)}</code></pre>
          </details>
        </li>`,
    )}
  </ol>`;
}

function gap(before: TimelineRow | undefined, { time: at }: TimelineRow): string {
  if (!before) return '';
  const seconds = (Date.parse(at) - Date.parse(before.time)) / 1000;
  return seconds < 0.001 ? '' : `, ${seconds.toFixed(3)} s later`;
}

/** Signs a link at each click; the file store checks it. */
export async function openFile(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const { accountId } = visit.session;
  const token = visit.params['token'] ?? '';
  const found = await readAccountDownload(dependencies.pool, { accountId, token });
  if (found?.download.status !== 'done') throw missing();
  const link = await linkToFile(found.download, dependencies);
  if (link === 'away') throw away();
  if (link === 'gone')
    throw new PageRefusal(
      404,
      'The file is gone',
      'Files are kept for a while only. Download the video again to get a new one.',
    );
  if ('blocked' in link) throw new PageRefusal(404, 'This video is blocked', link.blocked);
  return redirect(link.url);
}
