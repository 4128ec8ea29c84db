import { createSmtpMailer } from '../adapters/mailer.ts';
import { staffInvitation } from '../documents/staff-invitation.ts';
import { mailbox } from '../domain/people.ts';
import type { StaffRole } from '../domain/staff-events.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import type { Config } from './settings/config.ts';

/** Somebody waits for the answer. */
const timeoutMs = 10_000;

/** Mails their link to people who were invited. @returns undefined without a mail server: then the command line shows the link */
export function createStaffInvitations(
  { SMTP_URL: url, MAIL_FROM: from }: Config,
  now: () => string,
): ((invited: { email: string; role: StaffRole; link: string }) => Promise<void>) | undefined {
  if (url === undefined) return undefined;
  const mailer = createSmtpMailer({ url, from, timeoutMs });
  return ({ email, role, link }) =>
    mailer.send({ id: newUuid(), to: [mailbox(email)], date: now(), ...staffInvitation({ role, link }) });
}
