import type { FastifyReply } from 'fastify';
import { readTimeline } from '../../../../projections/job-timeline.ts';
import { readJob } from '../../../../projections/jobs.ts';
import { changeOf } from '../../live/live-downloads.ts';
import type { LiveStream } from '../../live/live-streams.ts';
import { duration } from '../../parts.ts';
import { type Answer, badInput, PageRefusal, type StaffVisit } from '../../visit.ts';
import { eventPath } from '../addresses.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { seeAs } from '../view.ts';
import { download as downloadView } from '../views/download.ts';
import { amountsOf, type Step, stepsOf } from '../views/download-steps.ts';

/**
 * A download as it goes on: each of its events, by its position in the log, and the progress of its worker. A browser that has
 * lost the stream names the last position that it has got, and goes on behind it.
 */
export async function follow(visit: StaffVisit, dependencies: StaffDependencies, reply: FastifyReply): Promise<Answer> {
  const after = positionOf(visit);
  const { token } = await seeAs(visit, downloadView, dependencies);
  const { session, stay } = visit;
  const tell = (stream: LiveStream) => sendSteps(stream, { token, after, holder: session.staffId }, dependencies);
  if (!dependencies.streams.open(reply, { reader: session.staffId, stay }, tell))
    throw new PageRefusal(503, 'Too many live pages', 'Reload the page to see how the download goes on.');
  return { kind: 'handled' };
}

function positionOf({ request, query }: StaffVisit): bigint {
  const given = request.headers['last-event-id'] ?? query.get('after') ?? '0';
  if (typeof given !== 'string' || !/^\d{1,20}$/.test(given)) throw badInput('after: is not a position in the log.');
  return BigInt(given);
}

const positionOfStep = (step: Step): bigint => BigInt(step.event?.position ?? '0');

const lookSeconds = 1;

async function sendSteps(
  { send, gone, isOver }: LiveStream,
  { token, after, holder }: { token: string; after: bigint; holder: string },
  { pool, progress, waitForChange }: StaffDependencies,
): Promise<void> {
  let sent = after;
  let toldLast = '';
  while (!isOver()) {
    const download = await readJob(pool, token);
    if (!download) return;
    const timeline = await readTimeline(pool, token);
    const record = {
      download,
      timeline,
      corrections: [],
      credit_notes: [],
      access_records: [],
      api_key: null,
      period_after: {},
    };
    const steps = stepsOf(record, undefined).filter((step) => positionOfStep(step) > sent);
    sent = steps.map(positionOfStep).reduce((last, position) => (position > last ? position : last), sent);
    const change = changeOf(token, download.status, progress);
    const told = JSON.stringify(change);
    // The timeline may be behind the download: its last event comes before the end.
    const hasEnded = timeline.some(({ type }) => type === 'JobCompleted' || type === 'JobFailed');
    await send([
      ...steps.map((step) => ({ name: 'step', data: shownStep(step), id: positionOfStep(step).toString() })),
      ...(told === toldLast ? [] : [{ name: 'change', data: change }]),
      ...(hasEnded ? [{ name: 'end', data: {} }] : []),
    ]);
    if (hasEnded) return;
    toldLast = told;
    const waited = waitForChange([{ token, status: download.status }], { seconds: lookSeconds, gone, holder });
    if (!waited) return;
    await waited;
  }
}

const shownStep = (step: Step) => ({
  id: step.event?.id ?? '',
  path: eventPath(step.event?.id ?? ''),
  title: step.title,
  text: step.text,
  amounts: amountsOf(step),
  when: `${step.time.slice(0, 23).replace('T', ' ')} UTC, ${duration(step.gap_ms)} later, by ${step.actor.type} ${step.actor.id}`,
});
