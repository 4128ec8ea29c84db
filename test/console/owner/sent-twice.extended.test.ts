import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Browser, formKeyOf } from '../browser.ts';
import { consoleOfFile } from './console-of-file.ts';

/** A form that is sent again, by F5, by a second click or by a replay, gets the answer of the first time. */

const service = await consoleOfFile();
const { installation } = service;
let accountId: string;
let browser: Browser;

beforeAll(async () => {
  accountId = await service.openAccount('owner@example.com');
  browser = await service.newSession({ accountId, personId: openerOf(accountId) });
});

/** The key of the form on a page, another one each time that the page is made. */
async function formKeyOn(path: string): Promise<string> {
  return formKeyOf(await browser.get(path));
}

/** Each is charged. The answer to a form comes after the read model has it. */
const downloadsQueued = async (): Promise<number> =>
  (await service.sql('select from jobs where account_id = $1', [accountId])).length;

const keysIssued = async (): Promise<number> =>
  (await service.sql('select from api_keys where account_id = $1', [accountId])).length;

describe('the form of a download', () => {
  const sendWith = (key: string, item = 'bars') =>
    browser.post('/console/try/download', { url: installation.sampleUrl(item), form_key: key });

  it('is charged once, however often and however fast it is sent', async () => {
    const before = await downloadsQueued();
    const key = await formKeyOn('/console/try');
    const answers = await Promise.all([sendWith(key), sendWith(key), sendWith(key)]);
    answers.push(await sendWith(key));
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers['location'] ?? ''}`)).size).toBe(1);
    expect(answers[0].status).toBe(303);
    expect(await downloadsQueued()).toBe(before + 1);
  });

  it('asks for another download where it was changed before, or the page was made anew', async () => {
    const before = await downloadsQueued();
    const key = await formKeyOn('/console/try');
    const changed = [await sendWith(key), await sendWith(key, 'vertical')];
    const again = await sendWith(await formKeyOn('/console/try'));
    expect(new Set([...changed, again].map(({ headers }) => headers['location'])).size).toBe(3);
    expect(await downloadsQueued()).toBe(before + 3);
  });

  it('is refused with a key that no page has made', async () => {
    const before = await downloadsQueued();
    expect((await sendWith('x'.repeat(400))).status).toBe(400);
    expect(await downloadsQueued()).toBe(before);
  });
});

describe('the form of a look-up', () => {
  const sendWith = (key: string, item = 'bars') =>
    browser.post('/console/try/metadata', { url: installation.sampleUrl(item), form_key: key });
  const lookUpsCharged = async (): Promise<number> =>
    (
      await service.sql("select from overage_ledger where account_id = $1 and type = 'MetadataCreditDebited'", [
        accountId,
      ])
    ).length;
  const settled = (charged: number) =>
    waitFor(async () => (await lookUpsCharged()) === charged, { what: `${String(charged)} charged look-ups` });

  it('is charged once, and says the same each time', async () => {
    await service.installation.startRole('worker');
    const before = await lookUpsCharged();
    const key = await formKeyOn('/console/try');
    const answers = await Promise.all([sendWith(key), sendWith(key), sendWith(key)]);
    answers.push(await sendWith(key));
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).toContain('<dt>Length</dt>');
    }
    const other = [await sendWith(key, 'vertical'), await sendWith(await formKeyOn('/console/try'))];
    expect(other.map(({ status }) => status)).toEqual([200, 200]);
    await settled(before + 3);
  });

  it('that has failed looks up again', async () => {
    const key = await formKeyOn('/console/try');
    const failed = [await sendWith(key, 'private'), await sendWith(key, 'private')];
    for (const { text } of failed) expect(text).toContain('It costs nothing.');
  });
});

describe('the form of a key', () => {
  const sendWith = (key: string) => browser.post('/console/keys', { label: 'nightly', form_key: key });

  it('issues one, shows it once, and says so when it is sent again', async () => {
    const before = await keysIssued();
    const key = await formKeyOn('/console/keys');
    const answers = await Promise.all([sendWith(key), sendWith(key)]);
    answers.push(await sendWith(key));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(answers.filter(({ text }) => text.includes('rtk_'))).toHaveLength(1);
    expect(answers.at(-1)?.text).toContain('revoke it in the list of keys');
    expect(await keysIssued()).toBe(before + 1);
  });
});

describe('what is tried in the console', () => {
  it('counts in the hourly window of the account’s sessions, over which it is refused', async () => {
    const mine = await service.openAccount('limited@example.com', 'sandbox');
    const tried = await service.newSession({ accountId: mine, personId: openerOf(mine) });
    const limit = 10;
    const send = () => tried.post('/console/try/download', { url: 'https://nowhere.example/' });
    for (let nth = 1; nth <= limit; nth += 1) expect((await send()).status).toBe(400);
    const refused = await send();
    expect(refused.status).toBe(429);
    expect(refused.text).toContain('per hour');
    expect((await tried.post('/console/try/metadata', { url: installation.sampleUrl('bars') })).status).toBe(429);
  });
});
