import type { JobEvent } from '../src/domain/download-job-events.ts';
import { type ParsedEvent, parseInvoiceEvent, parseJobEvent, parseUsageEvent } from '../src/domain/parse-event.ts';
import type { UsageEvent } from '../src/domain/usage-events.ts';
import { CreditsRows } from './credits.ts';
import { applyToIdempotencyKeys } from './idempotency-keys.ts';
import { applyToJobDays } from './job-days.ts';
import { applyToJobs } from './jobs.ts';
import { applyToInvoicesDue } from './mark-invoices-due.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import { applyToUsageChanges } from './usage-changes.ts';
import { applyToUsageWarnings } from './usage-warnings.ts';

/**
 * Credits, jobs and idempotency keys change in one transaction under one checkpoint, so the revision in a credits row holds for
 * the jobs and keys of its account too: a download queued up to that revision has its rows. Invoices clear the marks of
 * invoices due. Warnings are read here too, because every further reader of the usage streams costs each download its share.
 */
export const usageAndJobs: RebuildableProjection = {
  name: 'usage_and_jobs',
  tables: ['credits', 'jobs', 'idempotency_keys', 'usage_warnings', 'usage_changes', 'job_days'],
  signedTables: { credits: 'mac', idempotency_keys: 'mac' },
  streamPrefixes: ['usage-', 'job-', 'invoices-'],
  start: ({ store, macs }) => {
    const credits = new CreditsRows({ store, macs });
    return async (events, client) => {
      const [invoiced, others] = [events.filter(isInvoice), events.filter((event) => !isInvoice(event))];
      const parsed = others.map((event): ParsedEvent<UsageEvent> | ParsedEvent<JobEvent> =>
        event.stream.startsWith('usage-') ? parseUsageEvent(event) : parseJobEvent(event),
      );
      const usage = parsed.filter(isUsage);
      const running = usage.length > 0 ? await credits.apply(usage, client) : new Map<string, number>();
      await applyToIdempotencyKeys(usage, client, macs);
      await applyToUsageWarnings(usage, client);
      await applyToUsageChanges(usage, client);
      await applyToInvoicesDue({ usage, invoices: invoiced.map(parseInvoiceEvent) }, client);
      const jobs = await applyToJobs(parsed, { client, store, running });
      await applyToJobDays(parsed.filter(isJob), jobs, client);
    };
  },
};

const isInvoice = ({ stream }: { stream: string }) => stream.startsWith('invoices-');

const isJob = (parsed: ParsedEvent<UsageEvent> | ParsedEvent<JobEvent>): parsed is ParsedEvent<JobEvent> =>
  !isUsage(parsed);

function isUsage(parsed: ParsedEvent<UsageEvent> | ParsedEvent<JobEvent>): parsed is ParsedEvent<UsageEvent> {
  return parsed.stream.startsWith('usage-');
}
