import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { freePort } from '../../../src/embedded/free-port.ts';
import { Browser } from '../browser.ts';
import { askForLink } from '../sign-in.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();
const email = 'owner@example.com';
let accountId: string;
beforeAll(async () => {
  accountId = await service.openAccount(email);
});

/** An API that has a public address. @returns where it listens, and that address */
async function startApiAt(publicUrl: string): Promise<[url: string, origin: string]> {
  const port = await freePort();
  await service.installation.startRole('api', { PORT: String(port), PUBLIC_URL: publicUrl });
  return [`http://127.0.0.1:${String(port)}`, publicUrl];
}

describe('cookies', () => {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax'];

  it('over https are sent over nothing else, and are set by no other host', async () => {
    const [url, origin] = await startApiAt('https://console.example');
    const browser = new Browser(url, { origin });
    const opened = await browser.get(await askForLink(browser, email, service));
    const [session = '', asked = ''] = opened.setCookies;
    expect(session.split('; ')).toEqual([
      expect.stringMatching(/^__Host-reeltally_session=[\w-]{27}$/),
      ...[...attributes, 'Max-Age=2592000', 'Secure'],
    ]);
    expect(asked.split('; ')).toEqual(['__Host-reeltally_browser=', ...attributes, 'Max-Age=0', 'Secure']);
    expect((await browser.get('/console/try')).status).toBe(200);
    const unprotected = new Browser(url, { origin });
    unprotected.cookies.set('reeltally_session', browser.session?.[1] ?? '');
    expect((await unprotected.get('/console/try')).status).toBe(303);
  });

  it('do not travel over plain http: the console refuses with a page', async () => {
    const [url, origin] = await startApiAt('http://console.example');
    const browser = await service.newSession({ accountId, personId: openerOf(accountId) });
    const elsewhere = new Browser(url, { origin });
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    for (const path of ['/console', '/console/sign-in', '/console/keys']) {
      const { status, text, setCookies } = await elsewhere.get(path);
      expect([status, text.includes('The console needs https'), setCookies]).toEqual([403, true, []]);
    }
    expect((await elsewhere.post('/console/sign-in', { email })).status).toBe(403);
  });
});
