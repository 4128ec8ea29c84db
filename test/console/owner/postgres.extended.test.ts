import { afterAll, beforeAll, expect, it } from 'vitest';
import { pageRoutes } from '../../../src/console/owner/page-routes.ts';
import { openerOf } from '../../../src/domain/people.ts';
import { call } from '../../support/client.ts';
import { unexpectedLines } from '../../support/log-lines.ts';
import { type PostgresProxy, startPostgresProxy } from '../../support/postgres-proxy.ts';
import type { ServiceProcess } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser } from '../browser.ts';
import { consoleOfFile } from './console-of-file.ts';

const service = await consoleOfFile();
let proxy: PostgresProxy;
let api: ServiceProcess;
let browser: Browser;
let things: Readonly<Record<string, string>>;

beforeAll(async () => {
  const { environment, startRole, cli, sampleUrl } = service.installation;
  proxy = await startPostgresProxy(environment.DATABASE_URL);
  api = await startRole('api', { DATABASE_URL: proxy.url });
  const { url } = api;
  const accountId = await service.openAccount('owner@example.com');
  const { key, key_id: keyId } = await cli<{ key: string; key_id: string }>(['keys', 'issue', accountId]);
  const { data } = await call(url, '/video/download', { key, body: { url: sampleUrl('bars') } });
  const token = String(data['request_token']);
  const session = await service.newSession({ accountId, personId: openerOf(accountId) });
  browser = new Browser(url);
  for (const [name, value] of session.cookies) browser.cookies.set(name, value);
  things = { token, key: keyId, number: '1', plan: 'studio_500' };
  const isThere = async () => (await browser.get(`/console/downloads/${token}`)).status === 200;
  await waitFor(isThere, { what: 'the download' });
});

afterAll(() => proxy[Symbol.asyncDispose]());

const owners = pageRoutes.filter(({ access }) => access === 'owner');
const addressOf = ({ path }: { path: string }) => path.replaceAll(/:(\w+)/g, (_, name: string) => things[name] ?? '');

it('a page asks Postgres one to three times, besides for its session', async () => {
  for (const route of owners.filter(({ method, path }) => method === 'GET' && !path.endsWith('/live'))) {
    // The first request opens connections, which take round trips of their own.
    await browser.get(addressOf(route));
    const before = proxy.roundTrips();
    await browser.get(addressOf(route));
    // A file takes two for each page of its rows.
    const most = route.path.endsWith('.csv') ? 4 : 3;
    expect([route.path, proxy.roundTrips() - before - 1]).toEqual([
      route.path,
      expect.toSatisfy((trips: number) => trips <= most) as number,
    ]);
  }
});

it('while a reader of the log is refused, no page shows its rows', async () => {
  await service.sql("insert into refused_readers (name, reason) values ('usage_and_jobs', 'the log was replaced')");
  const { status } = await browser.get(`/console/downloads/${things['token'] ?? ''}`);
  expect(status).toBe(503);
  await service.sql('delete from refused_readers');
  expect((await browser.get(`/console/downloads/${things['token'] ?? ''}`)).status).toBe(200);
});

it('while Postgres is away, every page and action says so, changes nothing, and works again afterwards', async () => {
  const readEvents = async () => (await service.installation.readLog()).length;
  const before = await readEvents();
  proxy.setAway(true);
  for (const route of owners) {
    const { status, text } = await (route.method === 'GET'
      ? browser.get(addressOf(route))
      : browser.post(addressOf(route), { email: 'mate@example.com', dollars: '5', effective: 'now' }));
    expect([route.method, route.path, status]).toEqual([route.method, route.path, 503]);
    expect(text).toContain('Nothing was changed. Try again in a minute.');
  }
  // The parts are asked once a second.
  const saysWhich = async () => {
    const { text } = await browser.get('/console');
    return text.replaceAll(/\s+/g, ' ').includes('<strong>Postgres</strong> is away (for ');
  };
  await waitFor(saysWhich, { what: 'a page that names Postgres' });
  expect((await new Browser(api.url).get('/console/sign-in')).status).toBe(200);
  expect(await readEvents()).toBe(before);
  proxy.setAway(false);
  await waitFor(async () => (await browser.get('/console')).status === 200, { what: 'the console' });
  for (const route of owners.filter(({ method }) => method === 'GET'))
    expect([route.path, (await browser.get(addressOf(route))).status]).not.toEqual([route.path, 503]);
  // One line for the loss and one for the return of each part, however many pages were asked for.
  expect(unexpectedLines(api.log())).toEqual([]);
});
