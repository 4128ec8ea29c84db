import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { startMailServer } from '../support/mail-server.ts';
import { against, expectRefusal, expectText, within } from './command-line.ts';

const service = shareService(noDownloads);
const run = against(service);
const mails = await startMailServer();
afterAll(() => mails.close());
const withMails = (...words: string[]) =>
  within({ REELTALLY_DATA: service.dataDirectory, SMTP_URL: mails.url, MAIL_FROM: 'service@example.com' })(...words);

const newEmail = () => `sue-${randomUUID()}@example.com`;
const invite = (email: string, role = 'support') => ['staff', 'invite', '--email', email, '--role', role];
const linkPattern = /^http:\/\/localhost:\d+\/staff\/sign-in\/[\w-]{27}$/m;

interface Invited {
  staff_id: string;
  link: string | null;
  mailed: boolean;
}

describe('staff link', () => {
  it('shows a link to a member who was invited, and to nobody else', async () => {
    const email = newEmail();
    await run(...invite(email));
    expectText(await run('staff', 'link', email), /^link +http:\/\/localhost:\d+\/staff\/sign-in\/[\w-]{27}$/m);
    await run('staff', 'remove', email);
    expectRefusal(await run('staff', 'link', email), /there is no member of staff|is not staff any more/);
    expectRefusal(await run('staff', 'link', newEmail()), /there is no member of staff/);
  });
});

describe('staff invite', () => {
  it('shows the link once where there is no mail server', async () => {
    const email = newEmail();
    const invited = await run(...invite(email));
    expectText(invited, /^link +http:\/\/localhost:\d+\/staff\/sign-in\/[\w-]{27}$/m);
    expectText(invited, /It is shown this once\.\n$/);
    expectRefusal(await run(...invite(email.toUpperCase())), /is staff already, as stf_\w+ in the role support/);
  });

  it('mails the link where there is one, and then shows it to nobody', async () => {
    const email = newEmail();
    const { stdout } = await withMails(...invite(email, 'finance'), '--json');
    expect(JSON.parse(stdout)).toMatchObject({ email, role: 'finance', link: null, mailed: true });
    const mail =
      mails.taken
        .find(({ to }) => to === email)
        ?.raw.replaceAll('=\r\n', '')
        .replaceAll('\r', '') ?? '';
    expect(mail).toMatch(linkPattern);
    expect(mail).toContain('in the role finance');
    expectText(
      await withMails(...invite(newEmail())),
      /A link is on its way to sue-\S+\. It signs in once, within a day\.\n$/,
    );
  });

  it('shows it too where the mail server does not take the mail', async () => {
    mails.treat(() => 451);
    try {
      const { stdout } = await withMails(...invite(newEmail()), '--json');
      const { link, mailed } = JSON.parse(stdout) as Invited;
      expect([link, mailed]).toEqual([expect.stringMatching(linkPattern), false]);
      expectText(await withMails(...invite(newEmail())), /The mail server has not taken the mail with the link\./);
    } finally {
      mails.treat(() => 'take');
    }
  });
});

describe('staff remove', () => {
  it('says so if nobody is an admin afterwards', async () => {
    const { cli } = service;
    const { staff } = await cli<{ staff: { staff_id: string; role: string; removed_at: string | null }[] }>(
      ...(['staff', 'list', '--limit', '100'] as const),
    );
    const admins = staff.filter(({ role, removed_at: removedAt }) => role === 'admin' && removedAt === null);
    const [one, other] = [newEmail(), newEmail()];
    for (const email of [one, other]) await cli(...invite(email, 'admin'));
    for (const { staff_id: staffId } of admins) await cli('staff', 'remove', staffId);
    expectText(await run('staff', 'remove', one), /^sue-\S+ is not staff any more\n$/);
    expectText(
      await run('staff', 'remove', other),
      /is not staff any more; nobody is an admin now: "staff invite" makes/,
    );
  });
});

describe('staff tokens', () => {
  it('are issued, listed, and revoked once and for all', async () => {
    const { cli } = service;
    const email = newEmail();
    const { staff_id: staffId } = await cli<Invited>(...invite(email));
    const issued = await cli<{ token_id: string; token: string; staff_id: string }>(
      ...['staff', 'tokens', 'issue', email, '--scope', 'money', '--label', 'a test'],
    );
    expect(issued.token).toMatch(/^rts_\w{20,}$/);
    const { token: _token, staff_id: _staff, ...row } = issued;
    expect(await cli('staff', 'tokens', 'list', email)).toEqual({ staff_id: staffId, tokens: [row] });
    for (let time = 0; time < 2; time += 1)
      expect(await cli('staff', 'tokens', 'revoke', email, issued.token_id)).toMatchObject({ revoked: true });
    expectRefusal(await run('staff', 'tokens', 'revoke', email, 'stk_aaaaaaaaaaaaaaaaaaaa'), /has no such token/);
    expectRefusal(
      await run('staff', 'tokens', 'issue', 'x@example.com', '--scope', 'money'),
      /there is no member of staff x@/,
    );
  });
});
