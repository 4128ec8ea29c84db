import type { FastifyReply, FastifyRequest } from 'fastify';
import pMap from 'p-map';
import { z } from 'zod';
import type { PolledJob } from '../../projections/jobs.ts';
import { type EndPlace, listEnded, readLastEnd } from '../../projections/queries/ended-downloads.ts';
import { plusSeconds } from '../domain/instant.ts';
import { readAgain } from './authenticate.ts';
import { callerOf } from './caller.ts';
import { endedDownload, statusOfRow } from './download-status.ts';
import type { Endpoint, EndpointDependencies } from './endpoint.ts';
import { sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { cursorField } from './paging.ts';
import { countPolls, type Polled, waitIfPreferred } from './poll-places.ts';
import { longestWaitSeconds } from './prefer.ts';
import { readFor } from './read-for.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput } from './request-input.ts';

const maxEvents = 100;
/** Links are signed for so many at a time: a bucket is asked for each. */
const statusesAtOnce = 10;
const fromNow = 'now';

const query = z.object({
  after: cursorField.describe(
    `\`next\` of the answer before: only downloads that ended after those. Without it, the answer begins with the oldest download whose file is still kept; \`${fromNow}\` begins with the next one that ends.`,
  ),
});

const headers = z.object({
  Prefer: z
    .string()
    .optional()
    .describe(
      `\`wait=N\` (RFC 7240): where nothing has ended, answer as soon as a download ends, or after N seconds, at most ${String(longestWaitSeconds)}. \`Preference-Applied\` confirms it; if too many polls are waiting already, in all or of this account, the answer comes at once and without that header. A request that waits counts as one of the hour, unless it is the first to tell the end of its first download, or has waited ${String(longestWaitSeconds)} seconds in vain; nor does a full hour refuse it then.`,
    ),
});

const videoEvents = z
  .strictObject({
    events: z
      .array(endedDownload)
      .max(maxEvents)
      .describe('Each as its status says, with a new link, in the order in which they ended.'),
    next: z.string().describe('The `after` of the next request. Keep it once these events are handled.'),
  })
  .meta({ id: 'DownloadEvents' });

export const videoEventsReference: EndpointReference = {
  operationId: 'listDownloadEvents',
  summary: 'The downloads that have ended since',
  description:
    `Costs nothing. One request for all downloads of the account: up to ${String(maxEvents)} that have ended after a cursor, by any key. None is left out, and an answer that gets lost is repeated with the same cursor. ` +
    'A download whose file is no longer available is `done` with the error `delivery_failed` in place of a link. One that the service has not accepted in the end, and whose charge is given back, fails with `voided`.',
  query,
  headers,
  success: {
    status: 200,
    description: 'The downloads that have ended after the cursor; none if the time is over.',
    headers: ['Preference-Applied'],
    data: videoEvents,
  },
  errors: [],
};

/** All ends of an account's downloads in one request: see decision 68. */
export const getVideoEvents: Endpoint['handler'] = (dependencies) => {
  const counted = countPolls(dependencies);
  return async (request, reply) => {
    const ended = await counted(request, reply, () => poll(request, reply, dependencies));
    if (ended === 'gone') return reply.hijack();
    // Links are signed once the request has its place.
    const events = await pMap(ended.jobs, (job) => statusOfRow(job, dependencies), { concurrency: statusesAtOnce });
    return sendData(reply, 200, { events, next: cursorAt(ended.place, dependencies) });
  };
};

interface Ended {
  jobs: PolledJob[];
  /** That of the last one, or of the request where there is none. */
  place: EndPlace;
}

async function poll(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: EndpointDependencies,
): Promise<Polled<Ended> | 'gone'> {
  const place = await placeOf(request, dependencies);
  const found = await endedAfter(place, dependencies);
  const waited = await waitIfPreferred(request, reply, {
    isAnswered: found.jobs.length > 0,
    wait: (options) => dependencies.waitingPolls.waitForEnd(place, options),
  });
  if (waited === 'gone') return 'gone';
  // Its key may have been revoked meanwhile.
  if (waited !== 'not') await readAgain(request, dependencies);
  const data = waited === 'not' ? found : await endedAfter(place, dependencies);
  return { data, toldEnd: data.jobs[0]?.token, waited };
}

async function endedAfter(place: EndPlace, dependencies: EndpointDependencies): Promise<Ended> {
  const ended = await readFor(dependencies, (pool) => listEnded(pool, { ...place, limit: maxEvents }));
  const position = ended.at(-1)?.position ?? place.position;
  return { jobs: ended.map(({ job }) => job), place: { ...place, position } };
}

/** @throws {ApiError} invalid_request for a cursor that is none of this account */
async function placeOf(request: FastifyRequest, dependencies: EndpointDependencies): Promise<EndPlace> {
  const { cursors, fileRetentionSeconds, now } = dependencies;
  const { accountId, usage } = callerOf(request);
  const { after } = readInput(query, request.query);
  if (after === undefined || after === fromNow) {
    const since = after === fromNow ? {} : { before: plusSeconds(now(), -fileRetentionSeconds) };
    const position = await readFor(dependencies, (pool) => readLastEnd(pool, { accountId, ...since }));
    return { accountId, position };
  }
  const position = BigInt(cursors.read({ list: 'events', accountId }, after));
  if (usage.coversUpTo !== undefined && position > usage.coversUpTo)
    throw new ApiError('invalid_request', 'after: is a cursor of a log that was replaced since; begin without one');
  return { accountId, position };
}

const cursorAt = ({ accountId, position }: EndPlace, { cursors }: Pick<EndpointDependencies, 'cursors'>): string =>
  cursors.write({ list: 'events', accountId }, String(position));
