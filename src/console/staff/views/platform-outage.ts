import { z } from 'zod';
import { listPlatformOutage, type PlatformOutagePeriod } from '../../../../projections/queries/platform-outage.ts';
import { failureReasonNames } from '../../../domain/failure-reasons.ts';
import { badInput } from '../../visit.ts';
import type { View } from '../view.ts';

/** As a field for a time sends it, in UTC: `2026-11-24T10:30`. */
const minute = z
  .string()
  .regex(/^2\d{3}-\d\d-\d\dT\d\d:\d\d$/, 'is no time such as 2026-11-24T10:30')
  .transform((text) => `${text}:00.000Z`)
  .pipe(z.iso.datetime('is no time such as 2026-11-24T10:30'));

const input = z.object({
  platform: z.string().min(1, 'must be chosen').max(40),
  failure: z.preprocess(
    (text) => (text === '' ? undefined : text),
    z.enum(failureReasonNames, 'is no reason of a failure').optional(),
  ),
  from: minute,
  to: minute,
});
export type OutageInput = z.infer<typeof input>;

export interface PlatformOutageShown {
  periods: PlatformOutagePeriod[];
}

const maxDays = 31;
const maxCharges = 10_000;

/** What an outage has failed and charged, by account and period: one statement, and nothing is changed. */
export const platformOutage: View<OutageInput, PlatformOutageShown> = {
  input,
  read: async ({ pool, now }, { platform, failure: reason, from, to }) => {
    if (from >= to) throw badInput('The outage ends before it begins.');
    // What is still to fail would make the same form mean something else later.
    if (to > now()) throw badInput('The end is still to come. Choose a time in the past, in UTC.');
    if (Date.parse(to) - Date.parse(from) > maxDays * 86_400_000) throw badInput('An outage has at most 31 days.');
    const { periods, isMore } = await listPlatformOutage(pool, { platform, reason, from, to }, { maxCharges });
    if (isMore)
      throw badInput('More than 10,000 charges have failed in this time. Choose a shorter one, and then the next.');
    return { periods };
  },
};
