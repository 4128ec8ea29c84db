import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, follow, formKeyOf, textOf } from '../browser.ts';
import type { StaffMember } from './staff-of.ts';
import { staffOfRun } from './staff-of-run.ts';

const service = staffOfRun(noDownloads);

let sue: StaffMember;
let support: Browser;
let accountId: string;
let path: string;
const owner = `${randomUUID().slice(0, 8)}@example.com`;
const joined = `${randomUUID().slice(0, 8)}@example.com`;

beforeAll(async () => {
  sue = await service.invite('support');
  support = await service.newStaffSession(sue);
  accountId = await service.openAccount(owner);
  path = `/staff/accounts/${accountId}/invoices/1`;
});

const eventsOf = (type: string) =>
  service.commands.store.read(`invoices-${accountId}`, 0).then((events) => events.filter((each) => each.type === type));

const page = async () => textOf(await support.get(path));
const untilTaken = (times: number) =>
  waitFor(async () => (await page()).split('taken by the mail server').length > times, {
    what: `${String(times)} mails to be taken`,
  });

describe('the page of an invoice', () => {
  it('says to whom it was mailed and when a mail server took it, and records the look', async () => {
    await untilTaken(1);
    expect(await page()).toMatch(
      new RegExp(`Mails .*${owner} issued taken by the mail server, \\w{3} [\\d-]+ [\\d:]+ UTC `),
    );
    const looks = await service.commands.store.read(`staff-${sue.staffId}`, 0);
    expect(looks.at(-1)).toMatchObject({
      type: 'PersonalDataViewed',
      data: { account_id: accountId, token: null, page: 'account' },
    });
  });

  it('sends it again, once for each form, to people of the account', async () => {
    await untilTaken(1);
    const { person_id: personId } = await service.installation.cli<{ person_id: string }>([
      'people',
      'invite',
      accountId,
      joined,
    ]);
    const fields = { form_key: formKeyOf(await support.get(path)), to: personId, reason: 'never got it' };
    for (let times = 0; times < 2; times += 1) {
      const answer = await support.post(`${path}/mails`, fields);
      expect([answer.status, answer.headers['location']]).toEqual([303, `${path}?done=mails#told`]);
      if (times === 0)
        expect(await follow(support, answer)).toContain(
          'It is asked for. The mail server is given it within moments: reload the page to see that it was taken.',
        );
    }
    await untilTaken(2);
    expect(await page()).toMatch(
      new RegExp(`${joined} asked for again .* by staff ${sue.staffId} : never got it taken by the mail server`),
    );
    const [asked, ...others] = await eventsOf('DocumentMailAsked');
    expect(others).toEqual([]);
    expect(asked).toMatchObject({
      data: { account_id: accountId, document_revision: 0, mail_to: [personId] },
      metadata: { actor: { type: 'staff', id: sue.staffId, role: 'support', reason: 'never got it' } },
    });
    const mails = await service.mailsTo(joined);
    expect(mails.filter((mail) => mail.includes('asked for again'))).toHaveLength(1);
    // The event of the mails leads to those that it has caused.
    expect((await support.get(`/staff/events/${asked?.id ?? ''}`)).text).toContain('DocumentMailed');
    expect(textOf(await support.get(`/staff/accounts/${accountId}/history?kind=mails`))).toMatch(
      new RegExp(`Mail about invoice INV-[A-Z0-9-]+-1 asked for again, to ${joined}.*never got it`),
    );
  });

  it('refuses a form that names nobody, or somebody else, and keeps what was typed', async () => {
    const nobody = await support.post(`${path}/mails`, { reason: 'never got it' });
    expect([nobody.status, textOf(nobody)]).toEqual([
      400,
      expect.stringMatching(/Mails .*Choose at least one person\. Nobody is mailed\..*never got it/) as string,
    ]);
    const foreign = openerOf('acc_aaaaaaaaaaaaaaaaaaaa');
    const other = await support.post(`${path}/mails`, { to: foreign, reason: 'never got it' });
    expect([other.status, textOf(other)]).toEqual([400, expect.stringContaining('not one of the people') as string]);
  });
});
