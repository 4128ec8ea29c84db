import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../src/domain/people.ts';
import { noDownloads } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Browser, Page } from './browser.ts';
import { staffOfRun } from './staff/staff-of-run.ts';

/** One account, from both sides: limits of its keys, a suspension, its closing, and the history of all of it. */
const service = staffOfRun(noDownloads);

let accountId: string;
let key: string;
let keyId: string;
let owner: Browser;
let finance: Browser;

beforeAll(async () => {
  accountId = await service.openAccount('life@example.com', 'enterprise');
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  finance = await service.signedInAs('finance');
  ({ key, key_id: keyId } = await service.installation.cli<{ key: string; key_id: string }>([
    ...['keys', 'issue', accountId, '--label', 'nightly import'],
  ]));
});

/** The fields of a page's form as a browser sends them if nobody changes them. */
const fieldsOf = ({ text }: Page): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input[^>]*>/g)].map(([input]) => [
      /name="([^"]*)"/.exec(input)?.[1] ?? '',
      /value="([^"]*)"/.exec(input)?.[1] ?? '',
    ]),
  );

const accountPage = () => `/staff/accounts/${accountId}`;
const credits = async () => (await call(service.api.url, '/credits', { key })).status;

describe('an owner', () => {
  it('limits a key, and sees the limit with it', async () => {
    const asked = await owner.post(`/console/keys/${keyId}/limit`, {
      downloads: '5',
      dollars: '1.50',
      until: '2099-01-31',
    });
    expect(asked.headers['location']).toBe('/console/keys?done=limited#told');
    const page = await owner.get('/console/keys');
    expect(page.text).toContain('5 downloads, $1.50 of overage, valid through 2099-01-31');
    expect((await owner.get(`/console/keys/${keyId}/limit`)).text).toContain('value="2099-01-31"');
  });

  it.each([
    [{ downloads: 'many', dollars: '', until: '' }, 'a whole number'],
    [{ downloads: '', dollars: '1.234', until: '' }, 'an amount in US dollars'],
    [{ downloads: '', dollars: '', until: '2027-02-30' }, 'a day such as'],
    [{ downloads: '', dollars: '', until: '9999-12-31' }, '9999-12-30 at the latest'],
  ])('is told what is wrong with %j', async (fields, told) => {
    const refused = await owner.post(`/console/keys/${keyId}/limit`, fields);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(told) as string]);
  });

  it('changes a part, and keeps what somebody else has changed since the page was shown', async () => {
    const path = `/console/keys/${keyId}/limit`;
    const shown = fieldsOf(await owner.get(path));
    expect(shown).toMatchObject({ downloads: '5', dollars: '1.50', until: '2099-01-31' });
    await owner.post(path, { ...shown, downloads: '7' });
    await service.installation.cli(['keys', 'limit', keyId, '--until', '2098-12-31']);
    await owner.post(path, { ...shown, dollars: '2.50' });
    expect((await owner.get('/console/keys')).text).toContain(
      '7 downloads, $2.50 of overage, valid through 2098-12-31',
    );
    await owner.post(path, { ...shown });
    expect(fieldsOf(await owner.get(path))).toMatchObject({ downloads: '7', dollars: '2.50', until: '2098-12-31' });
  });

  it('removes the limit with empty fields', async () => {
    await owner.post(`/console/keys/${keyId}/limit`, { downloads: '', dollars: '', until: '' });
    expect((await owner.get('/console/keys')).text).not.toContain('valid through');
  });

  it('removes the limit of a revoked key, which counts among those of the account', async () => {
    const { cli } = service.installation;
    const { key_id: revokedId } = await cli<{ key_id: string }>(['keys', 'issue', accountId, '--label', 'lost']);
    const path = `/console/keys/${revokedId}/limit`;
    await owner.post(path, { downloads: '3', dollars: '', until: '' });
    await owner.post(`/console/keys/${revokedId}/revoke`);
    expect((await owner.get('/console/keys')).text).toContain(`3 downloads <a href="${path}">Remove…</a>`);
    const page = await owner.get(path);
    expect(page.text).toContain('Remove the limit');
    const larger = await owner.post(path, { downloads: '4', dollars: '', until: '' });
    expect([larger.status, larger.text]).toEqual([400, expect.stringContaining('can only be removed') as string]);
    expect((await owner.post(path, fieldsOf(page))).headers['location']).toBe('/console/keys?done=limited#told');
    expect((await owner.get('/console/keys')).text).not.toContain('3 downloads');
    expect((await owner.get(path)).status).toBe(404);
  });

  it('asks for the closing once', async () => {
    for (const _ of [1, 2]) {
      const asked = await owner.post('/console/settings/closing');
      expect(asked.headers['location']).toBe('/console/settings?done=closing#told');
    }
    expect((await owner.get('/console/settings')).text).toContain('Its closing was asked for');
    expect((await finance.get(accountPage())).text).toContain('has asked for its closing');
  });

  it('finds who set the cap to 0', async () => {
    await owner.post('/console/settings/cap', { dollars: '0', effective: 'now' });
    const page = await waitFor(
      async () => {
        const shown = await owner.get('/console/history?kind=terms');
        return shown.text.includes('Overage cap set to $0.00') ? shown : undefined;
      },
      { what: 'the read model to have the change' },
    );
    expect(page.text).toMatch(/Overage cap set to \$0\.00, at once.*?life@example\.com/s);
    expect(page.text).toMatch(
      /Overage cap set to \$0\.00.*?Enterprise, cap \$0\.00.*?0 of 10,000 used, 10,000 left.*?none/s,
    );
    expect(page.text).not.toContain('Key issued');
    expect((await owner.get('/console/history')).text).toContain('Key issued: nightly import (rtk_');
    expect((await owner.get('/console/history?kind=nothing')).status).toBe(400);
    expect((await owner.get('/console/history?before=x')).status).toBe(400);
  });
});

describe('finance', () => {
  it('suspends with a reason, which the account is not told, and lifts it', async () => {
    const unreasoned = await finance.post(`${accountPage()}/suspend`);
    expect(unreasoned.status).toBe(400);
    expect(unreasoned.text).toMatch(/<details\s+open>\s*<summary>Suspend the account.*id="told".*needs a reason/s);
    const suspended = await finance.post(`${accountPage()}/suspend`, { reason: 'card 4711 was stolen' });
    expect(suspended.headers['location']).toBe(`${accountPage()}?done=suspended#told`);
    expect(await credits()).toBe(401);
    for (const path of ['/console', '/console/keys', '/console/settings']) {
      const page = await owner.get(path);
      expect(page.text, path).toContain('This account is suspended');
      expect(page.text).not.toContain('4711');
    }
    const plan = await owner.post('/console/settings/plan/studio_500', { difference_cents: '0' });
    for (const refused of [plan, await owner.get('/console/settings/plan/studio_500')]) {
      expect(refused.status).toBe(400);
      expect(refused.text).toContain('its plan cannot be changed until that is lifted');
    }
    expect((await finance.get(accountPage())).text).toContain('This account is suspended');
    expect((await finance.post(`${accountPage()}/lift-suspension`, { reason: 'a new card' })).status).toBe(303);
    expect(await credits()).toBe(200);
  });

  it('finds every change with its reason and its event, in two clicks from the account', async () => {
    const account = await finance.get(accountPage());
    expect(account.text).toContain(`href="${accountPage()}/history"`);
    const history = await finance.get(`${accountPage()}/history`);
    expect(history.text).toContain('card 4711 was stolen');
    const [, event] = /href="(\/staff\/events\/[^"]+)">AccountSuspended/.exec(history.text) ?? [];
    expect((await finance.get(event ?? '')).text).toContain('AccountSuspended');
    expect((await owner.get('/console/history')).text).not.toContain('4711');
  });

  it('closes the account: its keys are refused, its people signed out, and nothing more changes', async () => {
    const closed = await finance.post(`${accountPage()}/close`, { reason: 'the owner asked' });
    expect(closed.headers['location']).toBe(`${accountPage()}?done=closed#told`);
    expect(await credits()).toBe(401);
    expect((await owner.get('/console')).headers['location']).toMatch(/^\/console\/sign-in/);
    expect((await finance.get(accountPage())).text).toContain('This account is closed');
    const again = await finance.post(`${accountPage()}/suspend`, { reason: 'a test' });
    expect([again.status, again.text]).toEqual([400, expect.stringContaining('is closed') as string]);
  });
});

it('is noted when somebody signs in by a mailed link', async () => {
  const email = 'signs-in@example.com';
  await service.openAccount(email);
  const browser = await service.signedIn(email);
  const page = await browser.get('/console/history?kind=sign_ins');
  expect(page.text).toContain(`Signed in: ${email}`);
});
