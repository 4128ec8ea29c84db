import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SendMailOptions } from 'nodemailer';
import { type Mail, type Mailer, MailNotTaken } from '../ports/billing.ts';
import { syncToDisk } from '../system/disk.ts';
import { writePrivateFile } from '../system/private-files.ts';

/** Mails over SMTP, or into a folder if no mail server is set. */

/** Loaded by the first mail: many processes never send one. */
const loadNodemailer = () => import('nodemailer');

/** The time limit for one mail; a claim of a mail must last longer. */
const mailTimeoutMs = 60_000;

export interface SmtpSettings {
  /** `smtp://` or `smtps://`, with percent-encoded user and password if the server requires them. */
  url: string;
  /** The sender's address. */
  from: string;
  /** For tests. Default: `mailTimeoutMs`. */
  timeoutMs?: number;
}

/**
 * Opens a connection for each mail, since they are few. `smtps` uses TLS from the start; `smtp` uses STARTTLS if the server
 * offers it, and requires it before it sends a password. Certificates must be valid.
 */
export function createSmtpMailer({ url, from, timeoutMs = mailTimeoutMs }: SmtpSettings): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const secure = protocol === 'smtps:';
  const isLocal = ['localhost', '127.0.0.1', '::1'].includes(host);
  const server = {
    host,
    secure,
    port: Number(port === '' ? (secure ? 465 : 587) : port),
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    requireTLS: !secure && username !== '' && !isLocal,
    dnsTimeout: 10_000,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return {
    messageIdOf: (mailId) => messageIdOf(mailId, from),
    send: async (mail) => {
      const content = contentOf(mail, from);
      const { createTransport } = await loadNodemailer();
      try {
        await createTransport(server).sendMail({ ...content, signal: AbortSignal.timeout(timeoutMs) });
      } catch (error) {
        throw notTaken(error);
      }
    },
  };
}

/**
 * Writes a readable file for each mail, named by its time and id: the same mail twice is the same file. After a crash a file is
 * complete or missing. Only this user may read the files, because they contain addresses.
 */
export function createFolderMailer({ directory, from }: { directory: string; from: string }): Mailer {
  return {
    messageIdOf: (mailId) => messageIdOf(mailId, from),
    send: async (mail) => {
      const content = contentOf(mail, from);
      const { createTransport } = await loadNodemailer();
      const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
      const { message } = await transport.sendMail(content);
      if (!Buffer.isBuffer(message)) throw new Error('the mail was not written into memory');
      await mkdir(directory, { recursive: true, mode: 0o700 });
      writePrivateFile(join(directory, `${mail.date.replaceAll(':', '-')}-${mail.id}.eml`), message);
      await syncToDisk(directory);
    },
  };
}

const messageIdOf = (mailId: string, from: string) => `<${mailId}@${from.split('@')[1] ?? 'localhost'}>`;

/** The library reads another address in one with such a sign; the oldest events may have some. */
const signsOfMore = /[<>()[\]\\,;:"]/;

/** @throws {MailNotTaken} */
function contentOf(mail: Mail, from: string): SendMailOptions {
  if (mail.to.some((address) => signsOfMore.test(address))) throw new MailNotTaken('refused', 'not an e-mail address');
  return {
    // In parts, so that no part of an address is parsed as a second address.
    from: { name: 'Reeltally', address: from },
    to: mail.to.map((address) => ({ name: '', address })),
    subject: mail.subject,
    text: mail.text,
    date: new Date(mail.date),
    messageId: messageIdOf(mail.id, from),
    // Suppresses automatic replies (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

/** The library's errors may quote the address and the server's text, so only their codes are kept. */
function notTaken(error: unknown): MailNotTaken {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  const detail = [code, responseCode, command].filter((part) => part !== undefined).join(' ');
  const isAboutThisMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  // 421: the server is shutting down.
  return new MailNotTaken(isAboutThisMail && responseCode !== 421 ? 'refused' : 'away', detail);
}
