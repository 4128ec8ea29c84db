import { invoices as invoicesModel, readInvoices } from '../../../projections/invoices.ts';
import type { AccountInvoices } from '../../../projections/invoices.ts';
import { requireAccount } from '../accounts/find-account-usage.ts';
import type { CliDependencies } from '../dependencies.ts';
import { caughtUp } from '../wait-for-read-models.ts';

/** An account's invoices and credit notes, as far as the read model has them. */
export async function readDocuments(
  cli: CliDependencies,
  accountId: string,
): Promise<AccountInvoices & { email: string; behind: boolean }> {
  const { opened } = await requireAccount(cli, accountId);
  const behind = !(await caughtUp(cli, invoicesModel));
  return { ...(await readInvoices(cli.pool, accountId)), email: opened.personal.email, behind };
}
