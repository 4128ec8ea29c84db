import { join } from 'node:path';
import { createFolderMailer, createSmtpMailer } from '../adapters/mailer.ts';
import { invitationMail } from '../documents/invitation-mail.ts';
import { staffInvitation } from '../documents/staff-invitation.ts';
import { mailbox } from '../domain/people.ts';
import type { StaffRole } from '../domain/staff-events.ts';
import type { Mailer } from '../ports/billing.ts';
import type { ServicePart } from '../ports/service-parts.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import type { Config } from './settings/config.ts';

/** Over SMTP where a server is named, else into a folder of the data directory. */
export function createMailer({ SMTP_URL: url, MAIL_FROM: from, dataDirectory }: Config, timeoutMs?: number): Mailer {
  if (url !== undefined) return createSmtpMailer({ url, from, ...(timeoutMs !== undefined && { timeoutMs }) });
  return createFolderMailer({ directory: join(dataDirectory, 'mails'), from });
}

/** Somebody waits for the answer. */
const timeoutMs = 10_000;

/** Mails people that they were invited to an account. @returns whether the mail was taken */
export function createInvitations(
  config: Config,
  { now, publicUrl, part }: { now: () => string; publicUrl: () => string; part: ServicePart },
): (invited: { email: string; accountId: string }) => Promise<boolean> {
  const mailer = createMailer(config, timeoutMs);
  return async ({ email, accountId }) => {
    const mail = { id: newUuid(), to: [mailbox(email)], date: now(), ...invitationMail(accountId, publicUrl()) };
    return await mailer.send(mail).then(
      () => {
        part.works();
        return true;
      },
      (error: unknown) => {
        part.failed('an invitation', error);
        return false;
      },
    );
  };
}

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
