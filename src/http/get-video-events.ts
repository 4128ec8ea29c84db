import type { FastifyReply, FastifyRequest } from 'fastify';
import pMap from 'p-map';
import { z } from 'zod';
import type { PolledJob } from '../../projections/jobs.ts';
import {
  beforeAllEnds,
  type EndPlace,
  listEnded,
  readEnded,
  readLastEnded,
} from '../../projections/queries/ended-downloads.ts';
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
  tag: 'Videos',
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
    const data = await counted(request, reply, {
      poll: () => poll(request, reply, dependencies),
      // Links are signed once the request has its place.
      answer: async ({ jobs, place }) => ({
        events: await pMap(jobs, (job) => statusOfRow(job, dependencies), { concurrency: statusesAtOnce }),
        next: cursorAt(place, dependencies),
      }),
    });
    return data === 'gone' ? reply.hijack() : sendData(reply, 200, data);
  };
};

/** A place among the ends, with the download that ended there; undefined: before every end. */
type Place = EndPlace & { token: string | undefined };

interface Ended {
  jobs: PolledJob[];
  /** That of the last one, or of the request where there is none. */
  place: Place;
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

async function endedAfter(place: Place, dependencies: EndpointDependencies): Promise<Ended> {
  const ended = await readFor(dependencies, (pool) => listEnded(pool, { ...place, limit: maxEvents }));
  const last = ended.at(-1);
  return {
    jobs: ended.map(({ job }) => job),
    place: last ? { ...place, position: last.position, token: last.job.token } : place,
  };
}

/** @throws {ApiError} invalid_request for a cursor that is none of this account */
async function placeOf(request: FastifyRequest, dependencies: EndpointDependencies): Promise<Place> {
  const { cursors, fileRetentionSeconds, now } = dependencies;
  const { accountId } = callerOf(request);
  const { after } = readInput(query, request.query);
  const start = { accountId, position: beforeAllEnds, token: undefined };
  if (after === undefined || after === fromNow) {
    const since = after === fromNow ? {} : { before: plusSeconds(now(), -fileRetentionSeconds) };
    return { ...start, ...(await readFor(dependencies, (pool) => readLastEnded(pool, { accountId, ...since }))) };
  }
  const token = cursors.read({ list: 'events', accountId }, after);
  if (token === '') return start;
  const ended = await readFor(dependencies, (pool) => readEnded(pool, { accountId, token }));
  if (!ended)
    throw new ApiError('invalid_request', 'after: names a download that is not there any more; begin without it');
  return { accountId, ...ended };
}

/**
 * The cursor names a download and not the position of its end: in another store, to which a log may be moved, positions are others.
 */
const cursorAt = ({ accountId, token = '' }: Place, { cursors }: Pick<EndpointDependencies, 'cursors'>): string =>
  cursors.write({ list: 'events', accountId }, token);
