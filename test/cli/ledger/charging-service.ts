import { noDownloads, ownService } from '../../http/shared-service.ts';
import { accountWithDownloads } from '../../support/downloads.ts';
import { auditFoundDivergence } from '../../support/log-lines.ts';
import { planFile } from '../../support/plans.ts';
import type { Service } from '../../support/service.ts';

/**
 * A service whose plan includes one download, so that those after it are overage. The tests change the ledger by hand, which
 * the audit beside the dispatcher finds too.
 */
export function chargingService(): Service {
  const plans = planFile({ downloads_limit: 1, overage_cents: 25 });
  return ownService({ ...noDownloads, PLANS_FILE: plans }, [auditFoundDivergence]);
}

/** An account with the included download, and so many charged ones. */
export const chargedAccount = (service: Service, charged: number) =>
  accountWithDownloads(service, Array<string>(1 + charged).fill('private'));
