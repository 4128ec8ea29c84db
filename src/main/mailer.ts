import { join } from 'node:path';
import { createFolderMailer, createSmtpMailer } from '../adapters/mailer.ts';
import type { Mailer } from '../ports/billing.ts';
import type { Config } from './settings/config.ts';

/** Over SMTP where a server is named, else into a folder of the data directory. */
export function createMailer({ SMTP_URL: url, MAIL_FROM: from, dataDirectory }: Config): Mailer {
  if (url !== undefined) return createSmtpMailer({ url, from });
  return createFolderMailer({ directory: join(dataDirectory, 'mails'), from });
}
