import { apiKeys } from './api-keys.ts';
import { jobTimeline } from './job-timeline.ts';
import { overageLedger } from './overage-ledger.ts';
import type { RebuildableProjection } from './rebuild.ts';
import type { Projection } from './runner.ts';
import { usageAndJobs } from './usage-and-jobs.ts';

/** Every read model that the projector keeps, each under a checkpoint of its own. */
export const projections: readonly Projection[] = [usageAndJobs, apiKeys, overageLedger, jobTimeline];

/** Those that can be rebuilt beside the live ones and swapped. */
export const rebuildableProjections: readonly RebuildableProjection[] = [overageLedger, jobTimeline];
