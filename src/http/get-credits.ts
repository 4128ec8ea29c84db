import { z } from 'zod';
import { creditsData } from '../documents/credits.ts';
import { summariseUsage } from '../domain/usage-summary.ts';
import { currentUsage } from './current-usage.ts';
import type { Endpoint } from './endpoint.ts';
import { sendData, timestamp } from './envelope.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import { showCredits } from './usage-headers.ts';

const count = z.int().min(0);
const pool = z.strictObject({
  limit: count.describe("The plan's allowance for the billing period."),
  used: count.describe('Credits taken, at most the limit.'),
  remaining: count.describe('Limit less used.'),
});

/** The summary of a billing period. */
export const creditFields = {
  plan: z.string().describe("The plan of the key's account."),
  downloads: pool.describe('Download credits.'),
  metadata: pool.describe('Metadata credits, a pool of their own.'),
  overage: z
    .strictObject({
      downloads: count.describe('Downloads charged beyond the allowance.'),
      cents: count.describe('Their price, in US cents.'),
    })
    .describe('Charges beyond the allowance in this billing period.'),
  period_start: timestamp.describe('When the billing period began, in UTC.'),
  period_end: timestamp.describe('When it ends and the next one begins, in UTC.'),
};

const credits = z.strictObject(creditFields).meta({ id: 'Credits' });

export const creditsReference: EndpointReference = {
  operationId: 'getCredits',
  tag: 'Account',
  summary: 'Usage of the current billing period',
  description: 'Costs nothing. It includes every download that was answered with `202`.',
  success: { status: 200, description: 'The pools and the overage of this billing period.', data: credits },
  errors: [],
};

/** Contract §4.4. */
export const getCredits: Endpoint['handler'] = (dependencies) => async (request, reply) => {
  const usage = await currentUsage(request, dependencies);
  const summary = summariseUsage(usage, dependencies.now());
  showCredits(request, summary.downloads.remaining);
  return sendData(reply, 200, creditsData(summary) satisfies z.infer<typeof credits>);
};
