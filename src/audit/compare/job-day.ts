import type { Link } from '../rules/event-schemas.ts';

/** The downloads that ended on a UTC day, of one platform and in one way. Subject of a row of `job_days`. */
export interface JobDay {
  /** YYYY-MM-DD. */
  day: string;
  platform: string;
  outcome: string;
  downloads: number;
}

/** @param event the end of a download */
export const outcomeOf = ({ type, data }: Link): string => (type === 'JobCompleted' ? 'done' : data.reason);
