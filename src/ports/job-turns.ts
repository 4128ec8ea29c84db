import type { Job } from '../domain/download-job.ts';

/** Where a job was queued, and the revision that its row stands for. */
interface JobInTurn {
  token: string;
  usage_stream: string;
  usage_revision: number;
  account_id: string;
  platform: string;
  /** Revision of the job's last event, -1 if it has none. */
  revision: number;
}

export interface TurnWanted {
  workerId: string;
  /** The account that was served last: the turn begins with the one after it, in the order of their ids. */
  after: string;
  /** Business time, UTC ISO-8601. */
  now: string;
  maxJobsPerAccount: number;
  /** Downloads that this worker holds, by account; of its own, rows tell nothing that it does not know better. */
  own: Readonly<Record<string, number>>;
  /** Platforms of which this worker takes no more. */
  fullPlatforms: readonly string[];
  /** Jobs that are not queued any more, whatever their rows say, each as `token:revision`. */
  settled: readonly string[];
  /** The job that a message names. */
  named: { token: string; accountId: string } | undefined;
}

export interface Turn {
  /** The job that comes next, and how many its account has in progress. */
  next: (JobInTurn & { in_progress: number }) | null;
  /** The accounts looked at, in turn. */
  accounts: { account_id: string; in_progress: number }[];
  named: {
    in_progress: number;
    /** Its row; null where the read model does not have it yet. */
    row: { status: Job['status']; revision: number; not_before: string | null } | null;
  } | null;
}
