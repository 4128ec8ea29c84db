import { contractTimestamp } from '../domain/instant.ts';
import type { UsageSummary } from '../domain/usage-summary.ts';

/** The data of GET /credits (contract §2.5), and of the command that answers as it would have answered in the past. */
export const creditsData = ({ period, ...pools }: UsageSummary) => ({
  ...pools,
  period_start: contractTimestamp(period.start),
  period_end: contractTimestamp(period.end),
});
