import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { maxLinksOfAddress } from '../../../src/domain/session-lifetimes.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, follow, textOf } from '../browser.ts';
import { ownersOfRun } from './owners-of-run.ts';

const service = ownersOfRun(noDownloads);

interface Shown {
  plan: string;
  overage_cap_cents: number | null;
  coming: { terms: { plan: string } } | null;
}

let accountId: string;
let owner: Browser;
const shown = () => service.installation.cli<Shown>(['accounts', 'show', accountId]);

beforeAll(async () => {
  accountId = await service.openAccount('settings@example.com', 'dev_100');
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
});

describe('a change of plan', () => {
  const pathOf = (plan: string) => `/console/settings/plan/${plan}`;

  it('shows its price before it is confirmed, and costs what was shown', async () => {
    const page = await owner.get(pathOf('studio_500'));
    expect(page.text).toContain('<strong>$40.00</strong>');
    const changed = await owner.post(pathOf('studio_500'), { difference_cents: '4000' });
    expect(changed.headers['location']).toBe('/console/settings?done=plan#told');
    expect(await shown()).toMatchObject({ plan: 'studio_500' });
  });

  it('is told in the draft of the next invoice by its plan and day', async () => {
    const draft = async () => textOf(await owner.get('/console/invoices/draft'));
    const rise = /Rise of the monthly fee to that of the plan Studio 500, \w{3} \d{4}-\d\d-\d\d \$40\.00/;
    await waitFor(async () => rise.test(await draft()), { what: 'the rise in the draft' });
    expect(await draft()).not.toContain('The downloads that are charged');
  });

  it('is shown again, and not made, if its price is another one by then', async () => {
    // As if the page had been opened before the change above.
    const asked = await owner.post(pathOf('scale_2000'), { difference_cents: '13000' });
    expect(asked.headers['location']).toBe(`${pathOf('scale_2000')}?again`);
    const page = await owner.get(`${pathOf('scale_2000')}?again`);
    expect(page.text).toContain('The price has changed meanwhile.');
    expect(page.text).toContain('<strong>$90.00</strong>');
    expect(await shown()).toMatchObject({ plan: 'studio_500', coming: null });
  });

  it('to a lower fee waits for the next period, and costs nothing', async () => {
    const page = await owner.get(pathOf('dev_100'));
    expect(page.text).toContain('<strong>$0.00</strong>');
    const changed = await owner.post(pathOf('dev_100'), { difference_cents: '0' });
    expect(await shown()).toMatchObject({ plan: 'studio_500', coming: { terms: { plan: 'dev_100' } } });
    const told = await follow(owner, changed);
    expect(told).toMatch(
      /Plan The change is saved: you are on Studio 500 until (\w{3} \d{4}-\d\d-\d\d) , and on Dev 100 from then on\..*Dev 100 .* from \1 on/,
    );
  });

  it('that waits is taken back where it is shown', async () => {
    expect((await owner.get('/console/settings')).text).toMatch(/Keep Studio 500<\/button>/);
    const kept = await owner.post('/console/settings/keep-plan', { plan: 'studio_500' });
    const told = await follow(owner, kept);
    expect(told).toContain('You keep Studio 500. No change is due.');
    expect(told).not.toContain('Keep Studio 500');
    expect(await shown()).toMatchObject({ plan: 'studio_500', coming: null });
  });

  it('is not taken back for a plan that is in force no more', async () => {
    const before = await shown();
    const refused = await owner.post('/console/settings/keep-plan', { plan: 'dev_100' });
    expect(refused.status).toBe(400);
    expect(await shown()).toEqual(before);
  });

  it('is not taken back for one that staff have scheduled since the page was opened', async () => {
    const id = await service.openAccount('scheduled@example.com', 'studio_500');
    const own = await service.newSession({ accountId: id, personId: openerOf(id) });
    await own.post(pathOf('dev_100'), { difference_cents: '0' });
    expect((await own.get('/console/settings')).text).toContain('/console/settings/keep-plan');
    await service.installation.cli(['accounts', 'plan', id, 'sandbox', '--effective', 'next']);
    const refused = await own.post('/console/settings/keep-plan', { plan: 'studio_500' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('is agreed for your account')]);
    expect(refused.text).not.toContain('/console/settings/keep-plan');
    expect(await service.installation.cli(['accounts', 'show', id])).toMatchObject({
      coming: { terms: { plan: 'sandbox' } },
    });
  });

  it('is taken back by an owner who has chosen it, on a plan by agreement too', async () => {
    const id = await service.openAccount('by-agreement@example.com', 'enterprise');
    const own = await service.newSession({ accountId: id, personId: openerOf(id) });
    await own.post(pathOf('dev_100'), { difference_cents: '0' });
    const kept = await own.post('/console/settings/keep-plan', { plan: 'enterprise' });
    expect(kept.headers['location']).toBe('/console/settings?done=kept#told');
    expect(await service.installation.cli(['accounts', 'show', id])).toMatchObject({
      plan: 'enterprise',
      coming: null,
    });
  });

  it('is not taken back by an owner where staff have agreed on it', async () => {
    const opened = await service.openAccount('agreed@example.com', 'dev_100');
    const own = await service.newSession({ accountId: opened, personId: openerOf(opened) });
    await service.installation.cli(['accounts', 'terms', opened, '--overage-cents', '99', '--effective', 'next']);
    expect((await own.get('/console/settings')).text).not.toContain('Keep Dev 100');
    const refused = await own.post('/console/settings/keep-plan', { plan: 'dev_100' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('is agreed for your account')]);
    expect(await service.installation.cli(['accounts', 'show', opened])).toMatchObject({
      coming: { terms: { plan: 'dev_100', overage_cents: 99 } },
    });
  });

  it('is not made to a plan that is agreed for each account', async () => {
    const before = await shown();
    expect((await owner.get('/console/settings')).text).not.toContain(pathOf('enterprise'));
    for (const refused of [
      await owner.get(pathOf('enterprise')),
      await owner.post(pathOf('enterprise'), { difference_cents: '44000' }),
    ]) {
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('The plan Enterprise is agreed for each account.');
    }
    expect(await shown()).toEqual(before);
  });
});

describe('the cap', () => {
  it.each([
    ['12.50', 1_250],
    ['', null],
    ['0', 0],
  ])('of %j dollars is %j cents', async (dollars, cents) => {
    const changed = await owner.post('/console/settings/cap', { dollars, effective: 'now' });
    expect(changed.headers['location']).toBe('/console/settings?done=cap#told');
    expect(await shown()).toMatchObject({ overage_cap_cents: cents });
  });

  it.each([
    [{ dollars: 'ten', effective: 'now' }, 'an amount in US dollars'],
    [{ dollars: '10', effective: 'yesterday' }, 'when the change takes effect'],
  ])('is not changed by %j', async (fields, told) => {
    const before = await shown();
    const refused = await owner.post('/console/settings/cap', fields);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(told);
    expect(await shown()).toEqual(before);
  });

  it('keeps what was typed where it is refused, beside why', async () => {
    const { text } = await owner.post('/console/settings/cap', { dollars: '10.123', effective: 'next_period' });
    const form = /<form [^>]*action="\/console\/settings\/cap#told".*?<\/form>/s.exec(text)?.[0];
    expect(form).toMatch(/role="alert"[^>]* id="told".*such as 25 or 12\.50/s);
    expect(form).toContain('value="10.123"');
    expect(form).toMatch(/value="next_period"\s+checked/);
    expect(text.match(/id="told"/g)).toHaveLength(1);
  });
});

describe('billing details', () => {
  const typed = { name: 'Films Ltd', address: 'Harbour 1\r\n\r\n 20457 Hamburg ', country: 'de', tax_id: '' };

  it('are kept as they are typed, line by line', async () => {
    const changed = await owner.post('/console/settings/billing', typed);
    expect(changed.headers['location']).toBe('/console/settings?done=billing#told');
    expect(await follow(owner, changed)).toContain('The billing details are saved. Country: Germany.');
    expect(await service.installation.cli(['accounts', 'billing', accountId])).toMatchObject({
      name: 'Films Ltd',
      address_lines: ['Harbour 1', '20457 Hamburg'],
      country: 'DE',
      tax_id: null,
    });
  });

  it('name every field that cannot be used, by its label', async () => {
    const refused = await owner.post('/console/settings/billing', {
      ...typed,
      name: 'n'.repeat(201),
      tax_id: 't'.repeat(51),
    });
    expect(textOf(refused)).toContain('Name is longer than 200 characters. Tax ID is longer than 50 characters.');
  });

  it('are not cut to what fits: a country is typed as its letters', async () => {
    const refused = await owner.post('/console/settings/billing', { ...typed, country: 'Germany' });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="told"[^>]*><p>Country: two letters such as DE\. Nothing was saved\./);
    expect(refused.text).not.toMatch(/name="country"[^>]* maxlength/);
    expect(refused.text).toMatch(/name="name" value="Films Ltd".*Harbour 1\r?\n.*value="Germany"/s);
  });
});

describe('an invitation', () => {
  it('to what is no address is refused, and keeps it', async () => {
    const { status, text } = await owner.post('/console/settings/people', { email: 'mate at films' });
    expect(status).toBe(400);
    expect(text).toMatch(/id="told"[^>]*><p>That is not an e-mail address such as name@example.com/);
    expect(text).toContain('value="mate at films"');
  });

  it('is sent again from the list of people, until the person has signed in, and not without end', async () => {
    const mate = `mate-${randomUUID()}@example.com`;
    expect(await follow(owner, await owner.post('/console/settings/people', { email: mate }))).toContain('is invited');
    const [, action = ''] =
      new RegExp(`${mate}.*?action="(/console/settings/people/per_\\w+/invite-again)`, 's').exec(
        (await owner.get('/console/settings')).text,
      ) ?? [];
    const again = () => owner.post(action);
    expect(await follow(owner, await again())).toContain('The invitation is mailed again');
    expect((await service.mailsTo(mate)).filter((mail) => mail.includes('You are invited'))).toHaveLength(2);
    for (let times = 1; times < maxLinksOfAddress; times += 1) expect((await again()).status).toBe(303);
    const tooMany = await again();
    expect([tooMany.status, textOf(tooMany)]).toEqual([429, expect.stringContaining('send it again in') as string]);
  });

  it('is not sent again to somebody who has signed in', async () => {
    const mate = `mate-${randomUUID()}@example.com`;
    await owner.post('/console/settings/people', { email: mate });
    const { text } = await owner.get('/console/settings');
    const [, personId = ''] = new RegExp(`${mate}.*?/people/(per_\\w+)/invite-again`, 's').exec(text) ?? [];
    await service.signedIn(mate);
    const path = `/console/settings/people/${personId}`;
    expect((await owner.get('/console/settings')).text).not.toContain(`${path}/invite-again`);
    const answer = await owner.post(`${path}/invite-again`);
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining('has signed in since') as string]);
    expect((await owner.post('/console/settings/people/per_aaaaaaaaaaaaaaaa/invite-again')).status).toBe(404);
  });
});

describe('the removal of a person', () => {
  it('asks first, and signs them out', async () => {
    const mate = `mate-${randomUUID()}@example.com`;
    await owner.post('/console/settings/people', { email: mate });
    const theirs = await service.signedIn(mate);
    const { text } = await owner.get('/console/settings');
    const [form = '', personId = ''] =
      new RegExp(`<summary>Remove[^<]*<span[^>]*> ${mate}.*?/people/(per_\\w+)/remove.*?</details>`, 's').exec(text) ??
      [];
    expect(form).toContain('is signed out everywhere');
    const removed = await owner.post(`/console/settings/people/${personId}/remove`);
    expect(await follow(owner, removed)).toContain('The person is removed');
    expect((await theirs.get('/console/settings')).headers['location']).toContain('/console/sign-in');
  });

  it('is not one of oneself', async () => {
    const path = `/console/settings/people/${openerOf(accountId)}/remove`;
    expect((await owner.get('/console/settings')).text).not.toContain(path);
    const refused = await owner.post(path);
    expect([refused.status, textOf(refused)]).toEqual([
      400,
      expect.stringContaining('Somebody else of the account can remove you') as string,
    ]);
    expect((await owner.get('/console/settings')).status).toBe(200);
  });
});
