import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readCredits } from '../../projections/credits.ts';
import { notBelieved } from '../../projections/credits-macs.ts';
import { listUsageOfKeys, type UsageOfKey } from '../../projections/queries/usage-of-keys.ts';
import { listUsageDays, type UsageDay } from '../../projections/usage-days.ts';
import { usageStream } from '../domain/billing-period.ts';
import { contractTimestamp } from '../domain/instant.ts';
import { summarisePeriod, summariseUsage, type UsageSummary } from '../domain/usage-summary.ts';
import { callerOf } from './caller.ts';
import { currentUsage } from './current-usage.ts';
import type { Endpoint, EndpointDependencies } from './endpoint.ts';
import { sendData } from './envelope.ts';
import { ApiError } from './errors.ts';
import { creditFields } from './get-credits.ts';
import { afterField, day, nextField } from './paging.ts';
import { readFor } from './read-for.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { readInput } from './request-input.ts';

const keysPerPage = 50;

const query = z.object({
  period: day.optional().describe('The first day of a billing period, `YYYY-MM-DD`. Default: the current one.'),
  after: afterField,
});

const count = z.int().min(0);
const downloadCounts = {
  downloads: count.describe('Downloads that were accepted, on a credit or beyond the allowance.'),
  overage_downloads: count.describe('Those of them that were beyond the allowance.'),
  overage_cents: count.describe('Their price, in US cents, before what was given back.'),
};
const dayField = z.string().describe('The day in UTC, `YYYY-MM-DD`.');

const usageDay = z.strictObject({
  day: dayField,
  ...downloadCounts,
  metadata_requests: count.describe('Metadata requests that took a credit.'),
  given_back_credits: count.describe('Download credits that were given back on this day.'),
  given_back_overage_downloads: count.describe('Downloads beyond the allowance of which nothing is left to pay.'),
  given_back_cents: count.describe('Cents of overage that were given back on this day.'),
  given_back_metadata_credits: count.describe('Metadata credits that were given back on this day.'),
});

const usageKey = z.strictObject({
  key_id: z.string().nullable().describe('Id of the API key; null for downloads that a person queued in the console.'),
  key_prefix: z.string().nullable().describe('Leading part of the key.'),
  label: z.string().nullable().describe("The key's label."),
  ...downloadCounts,
  days: z
    .array(z.strictObject({ day: dayField, ...downloadCounts }))
    .describe('The days on which it queued downloads, in their order.'),
});

const usage = z
  .strictObject({
    ...creditFields,
    days: z.array(usageDay).describe('The days on which something was used or given back, in their order.'),
    keys: z.array(usageKey).max(keysPerPage).describe('The keys with downloads in the period, by their ids.'),
    next: nextField,
  })
  .meta({ id: 'Usage' });

export const usageReference: EndpointReference = {
  operationId: 'getUsage',
  tag: 'Account',
  summary: 'Usage of a billing period by day and by key',
  description:
    'Costs nothing. The pools are as `GET /credits` has them. Days and keys may be a moment behind. What is given back counts on the day on which that happens.',
  query,
  success: { status: 200, description: 'The usage of the billing period.', data: usage },
  errors: [],
};

export const getUsage: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const { accountId } = callerOf(request);
  const { period: wanted, after } = readInput(query, request.query);
  const list = { list: 'usage', accountId } as const;
  const afterKey = after === undefined ? undefined : dependencies.cursors.read(list, after);
  const summary = await summaryOf(wanted, request, dependencies);
  const { plan, downloads, metadata, overage, period } = summary;
  const { days, keys } = await readFor(dependencies, async (pool) => {
    const ofKeys = { accountId, period, after: afterKey, limit: keysPerPage + 1, macs: dependencies.macs };
    const [days, keys] = await Promise.all([
      listUsageDays(pool, { accountId, periodStart: period.start }),
      listUsageOfKeys(pool, ofKeys),
    ]);
    return { days, keys };
  });
  const shown = keys.slice(0, keysPerPage);
  const last: UsageOfKey | undefined = keys.length > keysPerPage ? shown.at(-1) : undefined;
  return sendData(reply, 200, {
    plan,
    downloads,
    metadata,
    overage,
    period_start: contractTimestamp(period.start),
    period_end: contractTimestamp(period.end),
    days: days.map(shownDay),
    keys: shown,
    next: last ? dependencies.cursors.write(list, last.key_id ?? '') : null,
  } satisfies z.infer<typeof usage>);
};

const shownDay = ({
  returned_credits,
  returned_overage_downloads,
  returned_cents,
  returned_metadata_credits,
  ...used
}: UsageDay): z.infer<typeof usageDay> => ({
  ...used,
  given_back_credits: returned_credits,
  given_back_overage_downloads: returned_overage_downloads,
  given_back_cents: returned_cents,
  given_back_metadata_credits: returned_metadata_credits,
});

/** @throws {ApiError} invalid_request for a day on which no billing period of the account begins */
async function summaryOf(
  wanted: string | undefined,
  request: FastifyRequest,
  dependencies: EndpointDependencies,
): Promise<UsageSummary> {
  const current = summariseUsage(await currentUsage(request, dependencies), dependencies.now());
  if (wanted === undefined || current.period.start.slice(0, 10) === wanted) return current;
  const stream = usageStream(callerOf(request).accountId, { start: wanted });
  const row = await readFor(dependencies, (pool) => readCredits(pool, stream, dependencies.macs));
  if (row === notBelieved) throw new ApiError('unavailable', { away: 'read_models' });
  if (!row || row.usage.phase === 'absent')
    throw new ApiError('invalid_request', 'period: no billing period of this account begins on that day');
  return summarisePeriod(row.usage);
}
