import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { StaffRole } from '../../../src/domain/staff-events.ts';
import type { BrowserOfFile, Session } from '../../support/browser.ts';
import type { ServiceInUse } from '../../support/service.ts';

/** Invites somebody at the command line. @returns the link that it prints */
export async function inviteStaff({ cli }: Pick<ServiceInUse, 'cli'>, role: StaffRole): Promise<string> {
  // An address of its own, also where a test runs twice on one service.
  const email = `${role}-${randomUUID().slice(0, 8)}@example.com`;
  const by = ['--by', 'a test', '--reason', 'a test'];
  const { link } = await cli<{ link: string }>('staff', 'invite', '--email', email, '--role', role, ...by);
  return link;
}

/** Signs somebody new in, for pages of this and other contexts. */
export async function sessionOfStaff(
  browser: BrowserOfFile,
  service: Pick<ServiceInUse, 'cli' | 'staffUrl'>,
  role: StaffRole,
): Promise<Session> {
  const page = await browser.open(service.staffUrl ?? '');
  await openLink(page, await inviteStaff(service, role));
  return page.context().storageState();
}

export async function openLink(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Staff console' }).waitFor();
}
