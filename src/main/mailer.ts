import { join } from 'node:path';
import { createFolderMailer, createSmtpMailer } from '../adapters/mailer.ts';
import { staffInvitation } from '../documents/staff-invitation.ts';
import { mailbox } from '../domain/people.ts';
import type { StaffRole } from '../domain/staff-events.ts';
import type { Mailer } from '../ports/billing.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import type { Config } from './settings/config.ts';

/** Over SMTP where a server is named, else into a folder of the data directory. */
export function createMailer({ SMTP_URL: url, MAIL_FROM: from, dataDirectory }: Config): Mailer {
  if (url !== undefined) return createSmtpMailer({ url, from });
  return createFolderMailer({ directory: join(dataDirectory, 'mails'), from });
}

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
    mailer.send({ id: newUuid(), to: [mailbox(email)], date: now(), ...staffInvitation(role, link) });
}
