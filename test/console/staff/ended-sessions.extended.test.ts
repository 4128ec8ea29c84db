import { get } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { invitePerson, removePerson } from '../../../src/commands/accounts.ts';
import { removeStaff } from '../../../src/commands/staff.ts';
import { newId } from '../../../src/system/clock-and-chance.ts';
import type { ChargedAccount } from '../../commands/charged-account.ts';
import { accepted } from '../../support/accepted.ts';
import { queue } from '../../support/downloads.ts';
import { atMostMs, scaled } from '../../support/proof-scale.ts';
import type { ServiceProcess } from '../../support/service.ts';
import { patienceMs, waitFor } from '../../support/wait-for.ts';
import type { Browser } from '../browser.ts';
import { failDownloads } from './charged-accounts.ts';
import { addPeriods } from './made-up-periods.ts';
import { staffOfFile } from './staff-of-file.ts';

/** What goes on after its request ends with its session, in every process of the service. */

const service = await staffOfFile();
const { installation } = service;
const sql: typeof service.sql = (...given) => service.sql(...given);
const tries = scaled(2, 15);
/** A live page ends by itself after a minute; how fast a busy machine is, only the long proof says. */
const longestMs = atMostMs(1_000);
const measured = new Map<string, number[]>();

let other: ServiceProcess;
let account: ChargedAccount;
let key: string;

beforeAll(async () => {
  other = await installation.startRole('api');
});

// An account has a limit of invitations an hour.
beforeEach(async () => {
  const accountId = await service.openAccount(`${newId('per')}@example.com`);
  ({ key } = await installation.cli<{ key: string }>(['keys', 'issue', accountId]));
  account = { accountId, stream: '', tokens: [] } as unknown as ChargedAccount;
});

afterAll(() => {
  for (const [way, ms] of measured) console.log(`${way}: ended after at most ${Math.max(...ms).toFixed(0)} ms`);
});

/** A download that waits: no worker runs. */
async function newDownload(): Promise<string> {
  const { request_token: token } = await queue(service.api.url, key, { url: installation.sampleUrl('bars') });
  account.tokens.push(token);
  const [row] = await waitFor(
    async () => {
      const rows = await sql<{ usage_stream: string }>('select usage_stream from jobs where token = $1', [token]);
      return rows.length === 1 && rows;
    },
    { what: 'the download in the read model' },
  );
  account.stream = row?.usage_stream ?? '';
  return token;
}

interface LivePage {
  /** All that has come. */
  text: () => string;
  /** When it ended, in milliseconds of `performance.now()`; undefined before. */
  endedMs: () => number | undefined;
}

function openPage(url: string, path: string, { cookies }: Browser): LivePage {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  let text = '';
  let endedMs: number | undefined;
  get(url + path, { agent: false, headers: { cookie } }, (answer) => {
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    answer.on('error', () => undefined).on('close', () => (endedMs = performance.now()));
  });
  return { text: () => text, endedMs: () => endedMs };
}

const order = { by: service.operator, timeoutMs: patienceMs };
const request = { correlationId: 'a test', actor: { type: 'system', id: 'a test' }, timeoutMs: patienceMs } as const;
const accounts = () => ({ ...service.commands, newId });

/** A person of the account, of the read model too. */
async function newPerson(): Promise<{ accountId: string; personId: string }> {
  const { accountId } = account;
  const email = `${newId('per')}@example.com`;
  const { personId } = accepted(await invitePerson(accounts(), { accountId, email, ...request }));
  await waitFor(async () => (await sql('select from people where person_id = $1', [personId])).length === 1, {
    what: 'the person in the read model',
  });
  return { accountId, personId };
}

interface Way {
  open: () => Promise<{ browser: Browser; end: () => Promise<unknown> }>;
  /** Addresses of the console of both processes. */
  urls: () => (string | null)[];
  path: (token: string) => string;
}

const ofOwners: Omit<Way, 'open'> = {
  urls: () => [service.api.url, other.url],
  path: (token) => `/console/downloads/live?token=${token}`,
};
const ofStaff: Omit<Way, 'open'> = {
  urls: () => [service.staffUrl, other.staffUrl],
  path: (token) => `/staff/downloads/${token}/live`,
};

const ways: Readonly<Record<string, Way>> = {
  'an owner who is removed': {
    ...ofOwners,
    open: async () => {
      const person = await newPerson();
      const browser = await service.newSession(person);
      return { browser, end: () => removePerson(accounts(), { ...person, ...request }) };
    },
  },
  'an owner who signs out everywhere': {
    ...ofOwners,
    open: async () => {
      const person = await newPerson();
      const [browser, elsewhere] = [await service.newSession(person), await service.newSession(person)];
      return { browser, end: () => elsewhere.post('/console/settings/sessions/end-all') };
    },
  },
  'an owner who ends one session': {
    ...ofOwners,
    open: async () => {
      const person = await newPerson();
      const [browser, elsewhere] = [await service.newSession(person), await service.newSession(person)];
      const session = `ses_${browser.session?.[1] ?? ''}`;
      return { browser, end: () => elsewhere.post('/console/settings/sessions/end', { session }) };
    },
  },
  'a member of staff who is removed': {
    ...ofStaff,
    open: async () => {
      const person = await service.invite('support');
      const end = () => removeStaff(service.commands, { ...order, by: service.operator, staffId: person.staffId });
      return { browser: await service.newStaffSession(person), end };
    },
  },
  'a member of staff who signs out': {
    ...ofStaff,
    open: async () => {
      const browser = await service.signedInAs('support');
      return { browser, end: () => browser.copy().post('/staff/sign-out') };
    },
  },
};

it.each(Object.entries(ways))('the live pages of %s end, and show no more event', async (name, way) => {
  for (let each = 0; each < tries; each += 1) {
    const token = await newDownload();
    const { browser, end } = await way.open();
    const pages = way.urls().map((url) => openPage(url ?? '', way.path(token), browser));
    await waitFor(() => pages.every(({ text }) => text().includes('"status":"queued"')), { what: 'the live pages' });
    await end();
    const sinceMs = performance.now();
    // A page on which nothing happens ends too.
    if (each % 2 === 0) await failDownloads(service, account, { which: [token] });
    await waitFor(() => pages.every(({ endedMs }) => endedMs() !== undefined), { what: 'the end of the pages' });
    for (const { text } of pages) expect(text()).not.toMatch(/claimed|running|failed|event: end/i);
    measured.set(name, [...(measured.get(name) ?? []), ...pages.map(({ endedMs }) => (endedMs() ?? 0) - sinceMs)]);
  }
  expect(Math.max(...(measured.get(name) ?? []))).toBeLessThan(longestMs);
});

it('the live pages of a removed person show no more event while the read models stand still', async () => {
  const person = await newPerson();
  const member = await service.invite('support');
  const token = await newDownload();
  const pages = [
    openPage(service.api.url, ofOwners.path(token), await service.newSession(person)),
    openPage(service.staffUrl, ofStaff.path(token), await service.newStaffSession(member)),
  ];
  await waitFor(() => pages.every(({ text }) => text().includes('"status":"queued"')), { what: 'the live pages' });
  service.projector.pause();
  try {
    await removePerson(accounts(), { ...person, ...request });
    await removeStaff(service.commands, { ...order, by: service.operator, staffId: member.staffId });
    // In the place of the read model, which would show the removals too.
    await sql("update jobs set status = 'claimed' where token = $1", [token]);
    await waitFor(() => pages.every(({ endedMs }) => endedMs() !== undefined), { what: 'the end of the pages' });
  } finally {
    service.projector.resume();
  }
  for (const { text } of pages) expect(text()).not.toContain('claimed');
});

it('an export of somebody who is removed breaks off', async () => {
  const all = 60_000;
  await addPeriods(sql, '2019-01', all);
  for (let each = 0; each < tries; each += 1) {
    const member = await service.invite('finance');
    const browser = await service.newStaffSession(member);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const closed = Promise.withResolvers<undefined>();
    let [text, isCut] = ['', false];
    const path = '/staff/overage.csv?month=2019-01';
    get(service.staffUrl + path, { agent: false, headers: { cookie } }, (answer) => {
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        const isFirst = text === '';
        text += chunk;
        if (isFirst) answer.pause();
        if (isFirst)
          void removeStaff(service.commands, { ...order, by: service.operator, staffId: member.staffId }).then(() =>
            answer.resume(),
          );
      });
      answer.on('error', () => (isCut = true)).on('close', () => closed.resolve(undefined));
    });
    await closed.promise;
    expect(isCut).toBe(true);
    expect(text.split('\n').length).toBeLessThan(all);
  }
});
