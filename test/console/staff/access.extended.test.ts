import { describe, expect, it } from 'vitest';
import { freePort } from '../../../src/embedded/free-port.ts';
import { Browser } from '../browser.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();

/** An API whose staff console has an address of its own. */
async function startAt(address: string): Promise<Browser> {
  const port = await freePort();
  const api = await service.installation.startRole('api', { STAFF_PORT: String(port), STAFF_URL: address });
  expect(api.staffUrl).toBe(address);
  return new Browser(`http://127.0.0.1:${String(port)}`, { origin: address });
}

describe('cookies', () => {
  it('over https are sent over nothing else, and are set by no other host', async () => {
    const browser = await startAt('https://staff.example');
    const path = await service.printedPath(await service.invite('support'));
    const { setCookies } = await browser.post(path);
    expect(setCookies.map((each) => each.replace(/=[\w-]{27};/, '=(secret);'))).toEqual([
      '__Host-reeltally_staff=(secret); Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure',
      '__Host-reeltally_staff_browser=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure',
    ]);
    expect((await browser.get('/staff/operation')).status).toBe(200);
    const unprotected = new Browser(browser.url, { origin: browser.origin });
    unprotected.cookies.set('reeltally_staff', browser.session?.[1] ?? '');
    expect((await unprotected.get('/staff/operation')).status).toBe(303);
  });

  it('do not travel over plain http: the console refuses with a page', async () => {
    const browser = await startAt('http://staff.example');
    const { cookies } = await service.signedInAs('admin');
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    for (const path of ['/staff/sign-in', '/staff/operation']) {
      const { status, text, setCookies } = await browser.get(path);
      expect([status, text.includes('can set STAFF_URL'), setCookies]).toEqual([403, true, []]);
    }
  });
});

describe('a process', () => {
  it('of role api has no staff console unless it is told a port', async () => {
    const api = await service.installation.startRole('api', { STAFF_PORT: '' });
    expect(api.staffUrl).toBeNull();
  });
});
