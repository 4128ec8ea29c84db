import { apiKeys } from './api-keys.ts';
import { invoices } from './invoices.ts';
import { jobTimeline } from './job-timeline.ts';
import { overageLedger } from './overage-ledger.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import { usageAndJobs } from './usage-and-jobs.ts';

/** Every read model that the projector keeps, each under a checkpoint of its own; each can be rebuilt from the log. */
export const projections: readonly RebuildableProjection[] = [
  usageAndJobs,
  apiKeys,
  overageLedger,
  jobTimeline,
  invoices,
];
