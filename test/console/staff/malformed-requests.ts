import { beforeAll, describe, expect, it } from 'vitest';
import { rawBytes } from '../../http/raw-request.ts';
import { jsonLines } from '../../support/log-lines.ts';
import type { Browser } from '../browser.ts';
import type { StaffOfFile } from './staff-of-file.ts';

const isPage = (path: string) => path.startsWith('/console') || path.startsWith('/staff/sign-in');

/** Tests of malformed requests, on a service whose log has no failure yet. */
export function testMalformedRequests(service: StaffOfFile): void {
  let token: string;
  let accountId: string;
  let [admin, owner]: Browser[] = [];

  beforeAll(async () => {
    const { staffId } = await service.invite('admin');
    accountId = await service.openAccount('taken@example.com');
    [admin, owner] = [await service.signedInAs('admin'), await service.signedIn('taken@example.com')];
    ({ token } = await service.issueToken(staffId, ['accounts', 'jobs', 'money', 'operation']));
  });

  /** Every listener, with a page and with an address for programs, where it has one. */
  const doors = [
    ['the API', () => service.api.url, '/api/v1/credits'],
    ["the owners' console", () => service.api.url, '/console/sign-in'],
    ['the staff console', () => service.staffUrl, '/staff/sign-in'],
    ['signing in by a provider', () => service.staffUrl, '/staff/sign-in/with-provider'],
    ['the API of staff', () => service.staffUrl, '/staff/v1/operation'],
    ['health checks', () => service.projector.url, '/healthz'],
  ] as const;

  describe.each(doors)('%s', (_name, url, path) => {
    it.each([
      ['two Host fields', 'GET PATH', ['OWN', 'evil.test']],
      ['the same Host twice', 'GET PATH', ['OWN', 'OWN']],
      ['no Host', 'GET PATH', []],
      ['a Host that is none', 'GET PATH', ['evil.test/x']],
      ['another host in the request line', 'GET http://evil.testPATH', ['OWN']],
      ['another host in the request line, whose end is ours', 'GET http://OWN@evil.testPATH', ['OWN']],
    ])('answers 400 to %s, and leads nowhere', async (_, line, hosts) => {
      const own = new URL(url()).host;
      const [asked, ...fields] = [`${line} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`)].map((each) =>
        each.replace('PATH', path).replace('OWN', own),
      );
      const answer = await rawBytes(url(), [asked, ...fields, 'Connection: close', '', ''].join('\r\n'));
      expect(answer.status).toBe(400);
      expect(answer.text).not.toContain('evil');
      expect(answer.headers['location']).toBeUndefined();
      if (isPage(path)) {
        expect(answer.headers['content-type']).toMatch(/^text\/html/);
        expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
      } else {
        expect(answer.headers['content-type']).toMatch(/^application\/json/);
        expect(JSON.parse(answer.body)).toMatchObject({ success: false, error: { code: 'invalid_request' } });
      }
    });

    it('takes its own host in the request line, as proxies write it', async () => {
      const own = new URL(url()).host;
      const ask = (target: string) =>
        rawBytes(url(), `GET ${target} HTTP/1.1\r\nHost: ${own}\r\nConnection: close\r\n\r\n`);
      const [alone, whole] = [await ask(path), await ask(`http://${own}${path}`)];
      expect([whole.status, whole.headers['location']]).toEqual([alone.status, alone.headers['location']]);
      expect(whole.status).not.toBe(400);
    });
  });

  describe('JSON that is nested', () => {
    const nested = [
      ['lists', '['.repeat(8_000) + ']'.repeat(8_000)],
      ['objects', '{"a":'.repeat(2_600) + '1' + '}'.repeat(2_600)],
    ];

    it.each(nested)('as %s is refused by the API of staff', async (_, text) => {
      const answer = await fetch(`${service.staffUrl}/staff/v1/search`, {
        method: 'POST',
        body: `{"text":${text}}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ success: false, error: { code: 'invalid_request' } });
    });

    it.each(nested)('as %s is refused by the API', async (_, text) => {
      const { key } = await service.installation.cli<{ key: string }>(['keys', 'issue', accountId, '--label', 'a']);
      const answer = await fetch(`${service.api.url}/api/v1/auth/key`, {
        method: 'POST',
        body: `{"label":"a","more":${text}}`,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { code: 'invalid_request', message: 'body: is nested too deeply' },
      });
    });
  });

  describe('an address that a mail library reads as another one', () => {
    const odd = ['x@pen.test>', 'x@pen.test,y@pen.test', '"x"@pen.test', 'x@ｐen.test'];

    it.each(odd)('%s is taken nowhere', async (email) => {
      const invited = [
        await admin!.post('/staff/people', { email, role: 'support', reason: 'a test' }),
        await owner!.post('/console/settings/people', { email }),
        await owner!.post('/console/sign-in', { email }),
        await admin!.post('/staff/sign-in', { email }),
      ];
      expect(invited.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
      const { cli } = service.installation;
      const reason = ['--reason', 'a test'];
      for (const command of [
        ['people', 'invite', accountId, email],
        ['accounts', 'open', '--email', email, '--plan', 'sandbox'],
        ['staff', 'invite', '--email', email, '--role', 'support', ...reason],
      ])
        await expect(cli(command), command.join(' ')).rejects.toThrow('is not an e-mail address');
    });
  });

  // The last one.
  it('no request was a failure of the service', () => {
    const lines = jsonLines<{ msg: string }>(service.api.log()).map(({ msg }) => msg);
    expect(lines.filter((msg) => / failed$|inside the service/.test(msg))).toEqual([]);
  });
}
