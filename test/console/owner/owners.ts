import { randomUUID } from 'node:crypto';
import { beforeAll } from 'vitest';
import type { BrowserOfFile, Session } from '../../support/browser.ts';
import type { ConsoleOfRun } from '../../support/console-of-run.ts';
import { mailedLink } from '../../support/mailed-links.ts';
import { askFor } from '../../support/offers-of-run.ts';
import { inUse, type ServiceInUse } from '../../support/service.ts';

export type Console = ServiceInUse & Pick<ConsoleOfRun, 'account'>;

/** The console that the tests of several files use, each with accounts of its own; all look at the example account. */
export function consoleOfRun(): Console {
  const used: Partial<Console> = {};
  beforeAll(async () => {
    const { running, environment, account } = await askFor<ConsoleOfRun>('console');
    Object.assign(used, inUse(running, environment), { account });
  });
  return used as Console;
}

export interface SmallAccount {
  accountId: string;
  email: string;
}

/** An account with one download in its plan; more are overage. */
export async function openSmallAccount({ cli }: Console, owner: string): Promise<SmallAccount> {
  // An address of its own, also where a test runs twice on one service.
  const email = `${owner}-${randomUUID().slice(0, 8)}@example.com`;
  const open = ['accounts', 'open', '--email', email, '--plan', 'dev_100'];
  const { account_id: accountId } = await cli<{ account_id: string }>(...open);
  await cli('accounts', 'terms', accountId, '--downloads', '1', '--hourly', '500');
  return { accountId, email };
}

/** Signs in, for pages of other contexts. */
export async function sessionOf(browser: BrowserOfFile, service: Console, email: string): Promise<Session> {
  const page = await browser.open(service.url);
  await page.goto('/console/sign-in');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Mail me a link' }).click();
  await page.getByText('a link is on its way').waitFor();
  await page.goto(await mailedLink(service.dataDirectory, email));
  return page.context().storageState();
}
