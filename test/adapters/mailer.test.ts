import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFolderMailer, createSmtpMailer } from '../../src/adapters/mailer.ts';
import { type Mail, MailNotTaken } from '../../src/ports/billing.ts';
import { startMailServer, type TestMailServer } from '../support/mail-server.ts';
import { startSilentServer } from '../support/silent-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const from = 'billing@reeltally.test';
const mail: Mail = {
  id: '6f1c2a58-5b7e-5d0e-9d4b-3a1f0c9b8e77',
  to: ['owner@example.com'],
  subject: 'Half is used',
  text: 'As it says.\n',
  date: '2026-11-14T12:00:00.000Z',
};
const messageId = `<${mail.id}@reeltally.test>`;

async function mailServer(options: { password?: string } = {}): Promise<TestMailServer> {
  const server = await startMailServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** The error of a mail that is not taken. */
async function failureOf(url: string, changed: Partial<Mail> = {}, timeoutMs = 2_000): Promise<MailNotTaken> {
  const failure: unknown = await createSmtpMailer({ url, from, timeoutMs })
    .send({ ...mail, ...changed })
    .catch((error: unknown) => error);
  if (!(failure instanceof MailNotTaken)) throw new Error(`expected a mail not taken, got ${String(failure)}`);
  return failure;
}

it('mails nothing to an address in which the library reads another one', async () => {
  const server = await mailServer();
  const directory = temporaryDirectory();
  for (const to of ['x@pen.test>', '<x@pen.test', 'x@pen.test,y@pen.test', 'a:x@pen.test;', '"x"@pen.test']) {
    expect([to, (await failureOf(server.url, { to: [mail.to[0]!, to] })).reason]).toEqual([to, 'refused']);
    const intoFolder = createFolderMailer({ directory, from }).send({ ...mail, to: [to] });
    await expect(intoFolder).rejects.toBeInstanceOf(MailNotTaken);
  }
  expect([server.taken, readdirSync(directory)]).toEqual([[], []]);
});

describe('over SMTP', () => {
  it('a mail is taken, with its own Message-ID and time, and says that no person wrote it', async () => {
    const server = await mailServer();
    const mailer = createSmtpMailer({ url: server.url, from });
    expect(mailer.messageIdOf(mail.id)).toBe(messageId);
    await mailer.send(mail);
    await mailer.send(mail);
    const [first, second] = server.taken;
    expect(first).toEqual({ messageId, to: mail.to.join(), raw: second!.raw });
    expect(first!.raw).toMatch(/^From: Reeltally <billing@reeltally\.test>\r$/m);
    expect(first!.raw).toMatch(/^To: owner@example\.com\r$/m);
    expect(first!.raw).toMatch(/^Date: Sat, 14 Nov 2026 12:00:00 \+0000\r$/m);
    expect(first!.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    expect(first!.raw).toMatch(/\r\n\r\nAs it says\.\r\n$/);
  });

  it('a password is sent to a server that asks for one, and appears in no error', async () => {
    const server = await mailServer({ password: 'a secret:with@signs' });
    await createSmtpMailer({ url: server.url, from }).send(mail);
    expect(server.taken).toHaveLength(1);
    const wrong = server.url.replace(/secret/, 'guess');
    const failure = await failureOf(wrong);
    expect(failure.reason).toBe('away');
    expect(failure.message).toMatch(/EAUTH 535/);
    expect(JSON.stringify(failure) + String(failure.stack)).not.toMatch(/guess|with/);
  });

  it.each([550, 451])('an answer of %i says no to this mail', async (code) => {
    const server = await mailServer();
    server.treat(() => code);
    const failure = await failureOf(server.url);
    expect(failure).toMatchObject({
      reason: 'refused',
      message: `the mail was not taken: EMESSAGE ${String(code)} DATA`,
    });
  });

  it('a server that goes away, before or after the data, says nothing of the mail', async () => {
    const server = await mailServer();
    server.treat(() => 'cut');
    expect((await failureOf(server.url)).reason).toBe('away');
    server.treat(() => 421);
    expect((await failureOf(server.url)).reason).toBe('away');
    await server.close();
    const gone = await failureOf(server.url);
    expect(gone.reason).toBe('away');
    expect(gone.message).toContain('ESOCKET');
  });

  it('a server that accepts and says nothing is given up in time', async () => {
    await using silent = await startSilentServer();
    const failure = await failureOf(`smtp://127.0.0.1:${silent.port}`, {}, 200);
    expect(failure).toMatchObject({ reason: 'away', message: 'the mail was not taken: EABORT' });
  });

  it('an address is one address, whatever it looks like', async () => {
    const server = await mailServer();
    const other = 'victim@example.org';
    for (const to of [`a,${other}`, `<${other}>`, `a\r\nBcc:${other}`, `a\r\nRCPT TO:<${other}>`]) {
      await createSmtpMailer({ url: server.url, from })
        .send({ ...mail, to: [to] })
        .catch((error: unknown) => expect(error).toBeInstanceOf(MailNotTaken));
    }
    expect(server.received.filter((each) => /^(?:Bcc|Cc):/im.test(each.raw))).toEqual([]);
    const recipients = server.received.map(({ to }) => to);
    expect(recipients.filter((to) => to.split(',').includes(other) && to !== other)).toEqual([]);
  });
});

describe('into a folder', () => {
  it('a mail is a readable file, and the same mail is the same file', async () => {
    const directory = join(temporaryDirectory(), 'mails');
    const mailer = createFolderMailer({ directory, from });
    await mailer.send(mail);
    const [name] = readdirSync(directory);
    expect(readdirSync(directory)).toEqual([`2026-11-14T12-00-00.000Z-${mail.id}.eml`]);
    const path = join(directory, name!);
    const written = readFileSync(path, 'utf8');
    expect(written).toContain(`Message-ID: ${messageId}\r\n`);
    expect(written).toContain('Subject: Half is used\r\n');
    expect(written).toContain('\r\n\r\nAs it says.\r\n');
    expect([statSync(path).mode & 0o777, statSync(directory).mode & 0o777]).toEqual([0o600, 0o700]);
    await mailer.send(mail);
    expect(readdirSync(directory)).toEqual([name]);
    expect(readFileSync(path, 'utf8')).toBe(written);
  });
});
