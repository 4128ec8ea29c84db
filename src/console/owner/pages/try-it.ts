import { notBelieved } from '../../../../projections/credits-macs.ts';
import { readKeyedDownload } from '../../../../projections/idempotency-keys.ts';
import { catchUp } from '../../../../projections/runner/wait-for-checkpoint.ts';
import { usageAndJobs } from '../../../../projections/usage-and-jobs.ts';
import { until } from '../../../async/until.ts';
import { fingerprintOf, hashIdempotencyKey } from '../../../commands/ids/idempotency-key-hash.ts';
import { lookUpMetadata } from '../../../commands/look-up-metadata.ts';
import { nameVideo } from '../../../commands/name-video.ts';
import { queueDownload } from '../../../commands/queue-download.ts';
import { outcomesOf, recordPendingVoid } from '../../../commands/record-pending-void.ts';
import type { Compensation } from '../../../commands/usage/decide-batch.ts';
import { type Html, html } from '../../../documents/html.ts';
import { defaultOptions, type DownloadOptions, formats, misfit, qualities } from '../../../domain/download-options.ts';
import { failureReasons } from '../../../domain/failure-reasons.ts';
import type { ParsedVideo } from '../../../domain/parse-video-url.ts';
import type { Refusal } from '../../../domain/refusals.ts';
import { termsAt } from '../../../domain/usage-periods.ts';
import type { UsageSnapshot } from '../../../domain/usage-state.ts';
import type { LookUpOfForm } from '../../../ports/console-sessions.ts';
import type { VideoMetadata } from '../../../ports/videos.ts';
import { choiceField, formKeyField, formKeyOf, formTokenField, refusalNote } from '../../form-fields.ts';
import { facts, noteAnchor } from '../../parts.ts';
import { type Answer, away, badInput, type OwnerVisit, page, PageRefusal, redirect } from '../../visit.ts';
import { currentUsage, snapshotOf } from '../current-usage.ts';
import type { ConsoleDependencies } from '../dependencies.ts';
import { causeOf } from '../owner-request.ts';

/** An address, and what the service makes of it: the same commands as through the API, charged the same. */

const decisionBudgetMs = 5_000;
const downloadBudgetMs = 10_000;
const shownMs = 5_000;
/** As long as a look-up may take that the same form has begun before: two decisions, and the worker's answer between them. */
const earlierLookUpMs = 30_000;

export function show(visit: OwnerVisit, dependencies: ConsoleDependencies): Answer {
  return page({ title: 'Try it', section: 'try', content: form(visit, dependencies) });
}

function form(visit: OwnerVisit, { samplePlatformOrigin, newUuid }: ConsoleDependencies): Html {
  const { session, form: sent, refused } = visit;
  const url = sent.get('url') ?? (samplePlatformOrigin === undefined ? '' : `${samplePlatformOrigin}/watch/bars`);
  return html`<p>Paste the address of a video. What you do here counts and costs the same as through the API.</p>
    <form method="post" action="/console/try/metadata#${noteAnchor}" class="stack">
      ${refused && refusalNote(visit, refused.action)} ${formTokenField(session)} ${formKeyField(newUuid())}
      <label>Address <input type="url" name="url" required maxlength="2048" value="${url}" autocomplete="off" /></label>
      ${choiceField('Format', 'format', sent.get('format'), formats)}
      ${choiceField('Quality', 'quality', sent.get('quality'), qualities)}
      <p class="pages">
        <button formaction="/console/try/download#${noteAnchor}">Download it</button>
        <button class="second">Look up title and length</button>
      </p>
      <p class="hint">
        A download takes one download credit, or the price of one beyond the allowance. A look-up that succeeds takes
        one metadata credit.
      </p>
    </form>`;
}

export async function lookUp(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const snapshot = await admitted(visit, dependencies);
  const video = await readVideo(visit, dependencies);
  const { title, durationSeconds, thumbnail, downloadRefusal } = await lookUpOnce(visit, dependencies, {
    video,
    snapshot,
  });
  const minutes = `${String(Math.floor(durationSeconds / 60))}:${String(Math.round(durationSeconds) % 60).padStart(2, '0')}`;
  return page({
    title: 'Try it',
    section: 'try',
    content: html`${facts([
      ['Title', title],
      ['Length', minutes],
      ['Download', downloadRefusal === null ? 'Possible' : `Not possible: ${failureReasons[downloadRefusal].message}`],
      ['Platform', video.platform],
      ['Video id', html`<code>${video.videoId}</code>`],
      thumbnail !== '' && ['Picture', html`<a href="${thumbnail}" rel="noreferrer noopener">${thumbnail}</a>`],
    ])}
    ${form(visit, dependencies)}`,
  });
}

interface LookUp {
  video: ParsedVideo;
  snapshot: UsageSnapshot;
}

/** A form that is sent again gets what it has found the first time, and waits for that while it is under way. */
async function lookUpOnce(visit: OwnerVisit, dependencies: ConsoleDependencies, asked: LookUp): Promise<VideoMetadata> {
  const { lookUpsOfForms } = dependencies;
  const { accountId } = visit.session;
  const form: LookUpOfForm = { accountId, formHash: keyHashOf(visit, asked.video.canonicalUrl) };
  let begun = await lookUpsOfForms.begin(form);
  const isKnown = async () => begun !== 'under_way' || (begun = await lookUpsOfForms.begin(form)) !== 'under_way';
  await until(isKnown, { limitMs: earlierLookUpMs, pollMs: 200 });
  if (begun === 'under_way') throw new NotKnown('Look at your credits before you open the page anew and repeat it.');
  if (begun !== 'begun') return begun;
  const keep = async (kept: Promise<void>) => {
    const part = dependencies.serviceParts.of('keeping what forms have looked up');
    await kept.then(
      () => part.works(),
      (error: unknown) => part.failed('a look-up', error),
    );
  };
  const answer = await lookUpNow(visit, dependencies, asked).catch(async (error: unknown) => {
    if (!(error instanceof NotKnown)) await keep(lookUpsOfForms.notCharged(form));
    throw error;
  });
  await keep(lookUpsOfForms.found(form, answer));
  return answer;
}

/** @throws {NotKnown} if it may be charged */
async function lookUpNow(visit: OwnerVisit, dependencies: ConsoleDependencies, asked: LookUp): Promise<VideoMetadata> {
  const arrivedMs = performance.now();
  const lookupId = dependencies.newUuid();
  const answer = await lookUpMetadata(dependencies, {
    accountId: visit.session.accountId,
    lookupId,
    ...asked,
    cause: causeOf(visit, lookupId),
    decisionBudgetMs,
    now: dependencies.now(),
  });
  switch (answer.outcome) {
    case 'found':
      return answer.metadata;
    case 'unknown':
      throw await refusalOfUnknown(visit, dependencies, { arrivedMs, compensation: answer.compensation });
    case 'not_stored':
      throw away();
    case 'refused':
      throw pageRefusalFor(answer.refusal);
    case 'probe_failed': {
      const why = answer.nobodyAnswered
        ? 'No worker answered in time.'
        : 'The platform did not give the metadata of this video.';
      throw new PageRefusal(503, 'The look-up failed', `${why} It costs nothing. Try again in a minute.`);
    }
  }
}

/** A try counts like the request of a program that has the session. @throws {PageRefusal} beyond the hourly limit */
async function admitted(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<UsageSnapshot> {
  const snapshot = await snapshotOf(visit, dependencies);
  const { usage } = snapshot;
  const current = usage.phase === 'absent' ? await currentUsage(visit, dependencies, snapshot) : usage;
  const { hourly_limit: limit } = termsAt(current, dependencies.now());
  if ((await dependencies.admit(visit.session.accountId, limit)).isAdmitted) return snapshot;
  throw new PageRefusal(
    429,
    'Too many in an hour',
    `Your plan allows ${String(limit)} requests per hour here, as for each key. This one was not made, and costs nothing. What the form has asked for before is in the list of downloads. Try again later.`,
  );
}

export async function queue(visit: OwnerVisit, dependencies: ConsoleDependencies): Promise<Answer> {
  const arrivedMs = performance.now();
  const snapshot = await admitted(visit, dependencies);
  const options = readOptions(visit);
  const { kind, ...video } = await readVideo(visit, dependencies);
  const wrong = misfit(kind, options);
  if (wrong) throw badInput(`The ${wrong.option} ${wrong.why}.`);
  const { accountId } = visit.session;
  const keyHash = keyHashOf(visit, fingerprintOf(video, options));
  // After the snapshot: what is in neither is read from the log.
  const keyed = await readKeyedDownload(dependencies.pool, { accountId, keyHash, macs: dependencies.macs });
  if (keyed === notBelieved) throw away();
  const answer = await queueDownload(dependencies, {
    accountId,
    token: dependencies.tokens.issue(),
    video,
    options,
    keyHash,
    keyed,
    snapshot,
    cause: causeOf(visit, dependencies.newUuid()),
    deadlineMs: arrivedMs + downloadBudgetMs,
  });
  if (answer.outcome === 'unknown')
    throw await refusalOfUnknown(visit, dependencies, { arrivedMs, compensation: answer.compensation });
  if (answer.outcome === 'not_stored') throw away();
  if (answer.outcome === 'refused') throw pageRefusalFor(answer.refusal);
  outcomesOf(dependencies.serviceParts).works();
  // The page of the download reads the read model, which follows the log a moment later.
  const isShown = await catchUp(dependencies, usageAndJobs, shownMs);
  return redirect(isShown ? `/console/downloads/${answer.token}` : '/console/downloads');
}

/** Of the form and what was asked with it: a form that was changed before it is sent again asks for another download. */
const keyHashOf = (visit: OwnerVisit, fingerprint: string): string =>
  hashIdempotencyKey(`console ${formKeyOf(visit) ?? visit.request.id} ${fingerprint}`);

function readOptions({ form: sent }: OwnerVisit): DownloadOptions {
  const format = formats.find((each) => each === (sent.get('format') ?? defaultOptions.format));
  const quality = qualities.find((each) => each === (sent.get('quality') ?? defaultOptions.quality));
  if (!format || !quality) throw badInput('There is no such format or quality. Choose one of the list.');
  return { ...defaultOptions, format, quality };
}

async function readVideo(
  { form: sent }: OwnerVisit,
  { shortLinks, rules, samplePlatformOrigin }: ConsoleDependencies,
): Promise<ParsedVideo> {
  const named = await nameVideo((sent.get('url') ?? '').trim(), { shortLinks, rules, samplePlatformOrigin });
  if (named.outcome === 'refused') throw badInput(named.explanation);
  if (named.outcome !== 'named') throw away();
  return named.video;
}

function pageRefusalFor(refusal: Refusal): PageRefusal {
  const texts: Partial<Record<Refusal, string>> = {
    account_suspended: 'This account is suspended. Ask the support of this service why, and what lifts it.',
    account_closed: 'This account is closed.',
    download_quota_exceeded:
      'All downloads of your plan are used, and it has none beyond. Change the plan in the settings, or wait for the next billing period.',
    overage_cap_reached:
      'Your cap on overage is reached. Raise it in the settings, or wait for the next billing period.',
    metadata_quota_exceeded:
      'All metadata requests of your plan are used. Change the plan in the settings, or wait for the next billing period.',
  };
  return new PageRefusal(409, 'Not accepted', texts[refusal] ?? 'The service has refused this.');
}

/** Nobody pays for an answer that says that nothing was queued. */
async function refusalOfUnknown(
  { session, request }: OwnerVisit,
  dependencies: ConsoleDependencies,
  { arrivedMs, compensation }: { arrivedMs: number; compensation: Compensation | undefined },
): Promise<PageRefusal> {
  const unanswered = { accountId: session.accountId, requestId: request.id, arrivedMs };
  if (await recordPendingVoid(unanswered, dependencies, compensation)) return away();
  return new NotKnown('Look at your downloads in a minute; what is not there was not charged.');
}

/** What was asked may be stored and charged. */
class NotKnown extends PageRefusal {
  constructor(next: string) {
    super(503, 'The outcome is not known', `The service could not find out in time whether this was accepted. ${next}`);
  }
}
