import { apiKeys } from './api-keys.ts';
import { corrections } from './corrections.ts';
import { documentMails } from './document-mails.ts';
import { invoices } from './invoices.ts';
import { jobTimeline } from './job-timeline.ts';
import { overageLedger } from './overage-ledger.ts';
import { people } from './people.ts';
import { periodMoney } from './period-money.ts';
import { proofs } from './proofs.ts';
import type { RebuildableProjection } from './runner/projection.ts';
import { staff } from './staff.ts';
import { usageAndJobs } from './usage-and-jobs.ts';
import { usageDays } from './usage-days.ts';

/** All read models of the projector. Each entry has a checkpoint of its own, and can be rebuilt from the log. */
export const projections: readonly RebuildableProjection[] = [
  usageAndJobs,
  apiKeys,
  overageLedger,
  jobTimeline,
  invoices,
  documentMails,
  people,
  usageDays,
  periodMoney,
  corrections,
  staff,
  proofs,
];
