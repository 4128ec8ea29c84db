import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { recordAccess, recordSignIn } from '../../../src/commands/staff.ts';
import { accepted } from '../../support/accepted.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import { Browser, follow, formKeyOf, type Page, send, textOf } from '../browser.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

let ada: StaffMember;
let admin: Browser;
beforeAll(async () => {
  ada = await service.invite('admin');
  admin = await service.newStaffSession(ada);
});

const reason = 'a new colleague';
const pathOf = ({ staffId }: { staffId: string }) => `/staff/people/${staffId}`;
const logOf = ({ staffId }: { staffId: string }) => service.commands.store.read(`staff-${staffId}`, 0);
const typesOf = async (person: { staffId: string }) => (await logOf(person)).map(({ type }) => type);

async function expectRefused(asked: Promise<Page>, text: string, status = 400): Promise<void> {
  const answer = await asked;
  expect([answer.status, textOf(answer)]).toEqual([status, expect.stringContaining(text)]);
}

const linkPattern = /https?:\/\/[^/]+(\/staff\/sign-in\/[\w-]{20,})/;

const formKeyOn = async (path: string): Promise<string> => formKeyOf(await admin.get(path));

describe('an invitation', () => {
  it('whose form is sent again with another address or role is another one, and mails no way in to the first person', async () => {
    const [bob, other] = [`bob-${randomUUID()}@example.com`, `other-${randomUUID()}@example.com`];
    const asked = { email: bob, role: 'support', reason, form_key: await formKeyOn('/staff/people') };
    const [, ofBob] = /\/staff\/people\/(stf_\w+)/.exec((await admin.post('/staff/people', asked)).text) ?? [];
    const again = await admin.post('/staff/people', { ...asked, email: other });
    const [, ofOther] = /\/staff\/people\/(stf_\w+)/.exec(again.text) ?? [];
    expect(ofOther).not.toBe(ofBob);
    expect(textOf(await admin.get(pathOf({ staffId: ofOther ?? '' })))).toContain(other);
    await expectRefused(admin.post('/staff/people', { ...asked, role: 'admin' }), 'is staff already');
    await admin.post(`${pathOf({ staffId: ofBob ?? '' })}/remove`, { reason });
    await expectRefused(admin.post('/staff/people', asked), 'was removed since');
  });

  it('that is refused keeps what was typed, and its key', async () => {
    const form_key = await formKeyOn('/staff/people');
    const { status, text } = await admin.post('/staff/people', { email: 'nobody', role: 'finance', reason, form_key });
    expect([status, formKeyOf({ text } as Page)]).toEqual([400, form_key]);
    expect(text).toMatch(/id="told"[^>]*><p>That is not an e-mail address such as name@example.com/);
    expect(text).toContain('value="nobody"');
    expect(text).toMatch(/value="finance"\s+selected/);
    expect(text).toMatch(new RegExp(`>\\s*${reason}</textarea\\s*>`));
  });

  it('whose form is sent again invites nobody else, and leads to the person', async () => {
    const email = `eve-${randomUUID()}@example.com`;
    const asked = { email, role: 'support', reason, form_key: await formKeyOn('/staff/people') };
    const [one, two] = await Promise.all([admin.post('/staff/people', asked), admin.post('/staff/people', asked)]);
    const again = await admin.post('/staff/people', asked);
    expect(again.status).toBe(303);
    for (const { status, text, headers } of [one, two])
      expect(status === 303 ? headers['location'] : text).toContain(again.headers['location']);
    expect(textOf(await admin.get('/staff/people')).split(email)).toHaveLength(2);
  });

  it('is sent again with another link, until the person has signed in', async () => {
    const email = `hal-${randomUUID()}@example.com`;
    const { text } = await admin.post('/staff/people', { email, role: 'support', reason });
    const [, staffId = ''] = /\/staff\/people\/(stf_\w+)/.exec(text) ?? [];
    const again = () => admin.post(`${pathOf({ staffId })}/invite-again`);
    expect(await follow(admin, await again())).toContain('A link is on its way by mail.');
    const links = service.mails.taken
      .filter(({ to }) => to === email)
      .map(({ raw }) => linkPattern.exec(raw.replaceAll('=\r\n', ''))?.[1] ?? '');
    expect(new Set(links).size).toBe(2);
    expect((await new Browser(service.staffUrl).post(links[1] ?? '')).status).toBe(303);
    expect((await admin.get(pathOf({ staffId }))).text).not.toContain('Send the invitation again');
    expect((await again()).status).toBe(400);
  });

  it('mails a link, by which the person signs in once; the log says who invited, and why', async () => {
    const email = `fay-${randomUUID()}@example.com`;
    const answer = await admin.post('/staff/people', { email, role: 'finance', reason });
    expect(textOf(answer)).toContain(`${email} is staff now, in the role finance. A link is on its way to ${email} .`);
    expect(answer.text).not.toMatch(linkPattern);
    const mail = service.mails.taken.findLast(({ to }) => to === email)?.raw.replaceAll('=\r\n', '') ?? '';
    expect(mail).toContain('in the role finance');
    const [, path = ''] = linkPattern.exec(mail) ?? [];
    const [, staffId = ''] = /\/staff\/people\/(stf_\w+)/.exec(answer.text) ?? [];
    expect(textOf(await admin.get(pathOf({ staffId })))).toMatch(/finance Signs in by a link Last sign-in never/);
    const browser = new Browser(service.staffUrl);
    expect((await browser.post(path)).status).toBe(303);
    expect((await browser.get('/staff')).text).toContain(staffId);
    const today = new Date().toISOString().slice(0, 10);
    expect(textOf(await admin.get(pathOf({ staffId })))).toMatch(new RegExp(`Last sign-in \\w{3} ${today}`));
    expect(textOf(await admin.get('/staff/people'))).toMatch(
      new RegExp(`${email} finance by a link \\w{3} ${today} .* UTC \\w{3} ${today}`),
    );
    expect(await logOf({ staffId })).toMatchObject([
      {
        data: { role: 'finance', personal: { email } },
        metadata: { actor: { type: 'staff', id: ada.staffId, role: 'admin', reason } },
      },
      { type: 'StaffSignedIn' },
    ]);
    await expectRefused(
      admin.post('/staff/people', { email: email.toUpperCase(), role: 'admin', reason }),
      `is staff already, as ${staffId} in the role finance`,
    );
  });

  it('shows no link where there is no mail server, or where it does not take the mail: an operator makes one', async () => {
    const away = async () => {
      service.mails.treat(() => 550);
      return admin;
    };
    const without = async () => {
      const { staffUrl } = await service.installation.startRole('api', { SMTP_URL: '', STAFF_PORT: '0' });
      const browser = new Browser(staffUrl ?? '');
      for (const [name, value] of admin.cookies) browser.cookies.set(name, value);
      browser.formToken = admin.formToken;
      return browser;
    };
    try {
      for (const [asked, isTold] of [
        [away, true],
        [without, false],
      ] as const) {
        const email = `gus-${randomUUID()}@example.com`;
        const answer = await (await asked()).post('/staff/people', { email, role: 'support', reason });
        expect(textOf(answer)).toContain(`staff link ${email}`);
        expect(textOf(answer).includes('The mail server has not taken the mail')).toBe(isTold);
        expect(linkPattern.exec(answer.text)).toBeNull();
        const { link } = await service.installation.cli<{ link: string }>(['staff', 'link', email], {
          STAFF_URL: service.staffUrl,
        });
        const [, path = ''] = linkPattern.exec(link) ?? [];
        expect((await new Browser(service.staffUrl).post(path)).status).toBe(303);
      }
    } finally {
      service.mails.treat(() => 'take');
    }
  });

  it.each([
    ['no address', { email: 'nobody' }, 'not an e-mail address'],
    ['no role', { role: 'owner' }, 'Choose a role'],
    ['no reason', { reason: ' ' }, 'needs a reason'],
  ])('is not made for %s', async (_name, fields, text) => {
    const before = await service.sql('select from staff');
    await expectRefused(
      admin.post('/staff/people', { email: 'new@example.com', role: 'support', reason, ...fields }),
      text,
    );
    expect(await service.sql('select from staff')).toHaveLength(before.length);
  });
});

describe('a role', () => {
  it('is changed for the next page, by another admin', async () => {
    const sue = await service.invite('support');
    const browser = await service.newStaffSession(sue);
    const change = { role: 'admin', reason: 'promoted' };
    expect(await follow(admin, await admin.post(`${pathOf(sue)}/role`, change))).toContain('The role is changed.');
    expect((await browser.get('/staff/people')).status).toBe(200);
    expect((await logOf(sue)).at(-1)).toMatchObject({
      type: 'StaffRoleChanged',
      metadata: { actor: { id: ada.staffId, role: 'admin', reason: 'promoted' } },
    });
    expect((await admin.get(pathOf(ada))).text).not.toContain('Change the role');
    await expectRefused(admin.post(`${pathOf(ada)}/role`, { ...change, role: 'support' }), 'Nobody changes their own');
    await expectRefused(admin.post(`${pathOf(ada)}/remove`, { reason }), 'Nobody changes their own');
    expect(await typesOf(ada)).toEqual(['StaffInvited']);
  });

  it('of somebody of the OpenID provider is changed there', async () => {
    const staffId = `stf_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    const signIn = { by: 'provider', role: 'finance', email: 'ida@example.com', issuer: 'https://id', subject: 's' };
    accepted(await recordSignIn(service.commands, { staffId, signIn: { ...signIn } as never, timeoutMs: patienceMs }));
    await waitFor(async () => (await admin.get(pathOf({ staffId }))).status === 200, { what: 'the person' });
    const page = await admin.get(pathOf({ staffId }));
    expect(textOf(page)).toMatch(/finance Signs in by the OpenID provider, which says the role/);
    expect(page.text).not.toContain('Change the role');
    await expectRefused(
      admin.post(`${pathOf({ staffId })}/role`, { role: 'admin', reason }),
      'The OpenID provider says the role',
    );
  });
});

describe('a removal', () => {
  it('ends the sessions and tokens of the person', async () => {
    const sue = await service.invite('support');
    const browser = await service.newStaffSession(sue);
    const { token } = await service.issueToken(sue.staffId, ['money']);
    const answerOf = async () =>
      (
        await send(service.staffUrl, {
          method: 'GET',
          path: '/staff/v1/corrections',
          headers: { authorization: `Bearer ${token}`, host: new URL(service.staffUrl).host },
        })
      ).status;
    expect([await answerOf(), (await browser.get('/staff')).status]).toEqual([200, 200]);
    const page = await follow(admin, await admin.post(`${pathOf(sue)}/remove`, { reason: 'left' }));
    expect(page).toMatch(/The person is removed.*Role removed .* as support.*No token is valid.*no longer valid \(1\)/);
    expect([await answerOf(), (await browser.get('/staff')).status]).toEqual([401, 303]);
    for (const [action, fields] of [
      ['remove', {}],
      ['role', { role: 'admin' }],
      ['tokens', { label: 'x', scope: 'jobs', days: '1' }],
    ] as const)
      await expectRefused(admin.post(`${pathOf(sue)}/${action}`, { reason, ...fields }), 'removed already');
    expect(await typesOf(sue)).toEqual(['StaffInvited', 'StaffTokenIssued', 'StaffRemoved']);
    expect(textOf(await admin.get('/staff/people'))).toContain(`${sue.email} removed`);
  });
});

describe('a token for programs', () => {
  const issue = (person: StaffMember, more = '') =>
    admin.send({
      method: 'POST',
      path: `${pathOf(person)}/tokens`,
      fields: `form_token=${admin.formToken ?? ''}&label=export&scope=money&scope=jobs&days=30&reason=export${more}`,
    });
  const ask = async (token: string, path: string) =>
    (
      await send(service.staffUrl, {
        method: 'GET',
        path: `/staff/v1${path}`,
        headers: { authorization: `Bearer ${token}`, host: new URL(service.staffUrl).host },
      })
    ).status;

  it('is shown once, reads what it may at once, and nothing after it is revoked', async () => {
    const sue = await service.invite('support');
    const answer = await issue(sue);
    const [, token = ''] = /id="new-token">(rts_\w+)</.exec(answer.text) ?? [];
    expect([await ask(token, '/corrections'), await ask(token, '/operation')]).toEqual([200, 403]);
    const page = await admin.get(pathOf(sue));
    expect(page.text).not.toContain(token);
    expect(textOf(page)).toMatch(/export rts_\w+… money, jobs .* Revoke/);
    expect(textOf(await admin.get('/staff/people'))).toMatch(new RegExp(`${sue.email} support .* never 1`));
    const issued = (await logOf(sue)).at(-1);
    expect(issued).toMatchObject({
      data: { scopes: ['money', 'jobs'], personal: { label: 'export' } },
      metadata: { actor: { id: ada.staffId, reason: 'export' } },
    });
    const { token_id: tokenId, expires_at: expiresAt } = issued?.data as { token_id: string; expires_at: string };
    expect(Math.round((Date.parse(expiresAt) - Date.now()) / 86_400_000)).toBe(30);
    const path = `${pathOf(sue)}/tokens/${tokenId}/revoke`;
    await expectRefused(admin.post(path, { reason: '' }), 'needs a reason');
    expect(await follow(admin, await admin.post(path, { reason: 'leaked' }))).toMatch(
      /The token is revoked.*No token is valid.*no longer valid \(1\).*export .* revoked/,
    );
    expect(await ask(token, '/corrections')).toBe(401);
    const unknown = path.replace(tokenId, 'stk_aaaaaaaaaaaaaaaa');
    expect((await admin.post(unknown, { reason })).status).toBe(404);
  });

  it('is issued once by a form that is sent again, which says so', async () => {
    const sue = await service.invite('support');
    const asked = { label: 'export', scope: 'jobs', days: '1', reason, form_key: await formKeyOn(pathOf(sue)) };
    const answers = await Promise.all([1, 2].map(() => admin.post(`${pathOf(sue)}/tokens`, asked)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await expectRefused(admin.post(`${pathOf(sue)}/tokens`, asked), 'revoke it in the list of tokens', 409);
    expect(await typesOf(sue)).toEqual(['StaffInvited', 'StaffTokenIssued']);
  });

  it.each([
    ['no label', { label: ' ' }, 'must not be empty'],
    ['no scope', { scope: '' }, 'Choose what the token may read'],
    ['no days', { days: '' }, '1 to 365 days'],
    ['too many days', { days: '366' }, '1 to 365 days'],
    ['no reason', { reason: '' }, 'needs a reason'],
  ])('is not issued for %s', async (_name, fields, text) => {
    const sue = await service.invite('support');
    const asked = { label: 'export', scope: 'jobs', days: '1', reason, ...fields };
    await expectRefused(admin.post(`${pathOf(sue)}/tokens`, asked), text);
    expect(await typesOf(sue)).toEqual(['StaffInvited']);
  });
});

describe('looks at personal data', () => {
  it('are listed, the newest first: all, those of a person, those at an account', async () => {
    const [sue, fay] = [await service.invite('support'), await service.invite('finance')];
    const [one, two] = [await service.openAccount('one@example.com'), await service.openAccount('two@example.com')];
    for (const [person, accountId] of [
      [sue, one],
      [fay, one],
      [fay, two],
    ] as const) {
      const accessRecords = [{ accountId, token: null, page: 'account' }] as const;
      accepted(
        (await recordAccess(service.commands, { staffId: person.staffId, accessRecords, timeoutMs: patienceMs })) ?? {},
      );
    }
    await waitFor(
      async () => (await service.sql('select from staff_looks where account_id is not null')).length === 3,
      { what: 'the looks' },
    );
    const looksOf = async (query: string) => {
      const shown = textOf(await admin.get(`/staff/people/looks${query}`));
      return [...shown.matchAll(/(stf_\w+) \S+@example\.com (acc_\w+) account/g)].map(([, who, whose]) => [who, whose]);
    };
    const all = [
      [fay.staffId, two],
      [fay.staffId, one],
      [sue.staffId, one],
    ];
    expect(await looksOf('')).toEqual(all);
    expect(await looksOf(`?person=${fay.staffId}&account=`)).toEqual(all.slice(0, 2));
    expect(await looksOf(`?account=${one}`)).toEqual(all.slice(1));
    expect(await looksOf(`?account=${one}&person=${fay.staffId}`)).toEqual([all[1]]);
    const [newest] = await service.sql<{ position: string }>(
      'select position::text from staff_looks where account_id is not null order by staff_looks.position desc',
    );
    expect(await looksOf(`?before=${newest?.position ?? ''}`)).toEqual(all.slice(1));
    expect(textOf(await admin.get(pathOf(sue)))).toContain(`${sue.staffId} one@example.com ${one} account`);
    expect((await admin.get('/staff/people/looks?account=nobody')).status).toBe(400);
  });
});

it('a person whom nobody knows has no page, and the list goes on where a page ends', async () => {
  for (const id of ['stf_aaaaaaaaaaaaaaaa', 'nobody'])
    expect((await admin.get(`/staff/people/${id}`)).status).toBe(404);
  for (let many = 0; many < 26; many += 1) await service.invite('support');
  const first = await admin.get('/staff/people');
  const [, after = ''] = /rel="next" href="([^"]+)"/.exec(first.text) ?? [];
  const rows = ({ text }: Page) =>
    [...text.matchAll(/data-row href="\/staff\/people\/(stf_\w+)"/g)].map(([, id]) => id);
  const second = await admin.get(after);
  expect(rows(first)).toHaveLength(25);
  expect(rows(second).length).toBeGreaterThan(0);
  expect(new Set([...rows(first), ...rows(second)]).size).toBe(rows(first).length + rows(second).length);
});
