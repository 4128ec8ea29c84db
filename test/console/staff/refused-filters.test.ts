import { beforeAll, describe, expect, it } from 'vitest';
import { openerOf } from '../../../src/domain/people.ts';
import { noDownloads } from '../../http/shared-service.ts';
import { type Browser, textOf } from '../browser.ts';
import { staffOfRun } from './staff-of-run.ts';

/** Filters of lists that are refused: the form is there again, with what was typed and why. */

const service = staffOfRun(noDownloads);

let accountId: string;
let [owner, finance, admin]: Browser[] = [];

beforeAll(async () => {
  accountId = await service.openAccount('filters@example.com', 'dev_100');
  owner = await service.newSession({ accountId, personId: openerOf(accountId) });
  finance = await service.newStaffSession(await service.invite('finance'));
  admin = await service.newStaffSession(await service.invite('admin'));
});

const day = 'day such as 2026-11-24';
const noAccount = 'Account: an id such as acc_… is expected; the search finds it by name, mail address or tax ID';
const month = new Date().toISOString().slice(0, 7);

interface Refused {
  by: () => Browser | undefined;
  path: () => string;
  /** A part of why. */
  why: string;
  /** Something of the form that was typed with it. */
  typed: string;
}

const refused: Readonly<Record<string, Refused>> = {
  'downloads of an owner': {
    by: () => owner,
    path: () => '/console/downloads?from=24.11.2026&search=cats',
    why: 'From: a day such as 2026-11-24 is expected.',
    typed: 'value="cats"',
  },
  'the file of these': {
    by: () => owner,
    path: () => '/console/downloads.csv?to=24.11.2026&search=cats',
    why: 'Before: a day such as 2026-11-24 is expected.',
    typed: 'value="cats"',
  },
  'the history of an owner': {
    by: () => owner,
    path: () => '/console/history?kind=money',
    why: 'no kind of change that is called money',
    typed: 'name="kind"',
  },
  'downloads for staff': {
    by: () => finance,
    path: () => `/staff/accounts/${accountId}/downloads?at=yesterday&search=cats`,
    why: 'At about: a time such as 2026-11-24T10:15 is expected.',
    typed: 'value="cats"',
  },
  'a history for staff': {
    by: () => finance,
    path: () => `/staff/accounts/${accountId}/history?kind=money`,
    why: 'no kind of change that is called money',
    typed: 'name="kind"',
  },
  overage: {
    by: () => finance,
    path: () => '/staff/overage?month=all&account=Kuehn&difference=yes',
    why: noAccount,
    typed: 'value="Kuehn"',
  },
  'the file of overage': {
    by: () => finance,
    path: () => '/staff/overage.csv?month=all&account=Kuehn',
    why: noAccount,
    typed: 'value="Kuehn"',
  },
  corrections: {
    by: () => finance,
    path: () => `/staff/corrections?status=done&reference=CASE-1`,
    why: 'Status: is none of asked, permitted, refused, made, failed',
    typed: 'value="CASE-1"',
  },
  'corrections of an account': {
    by: () => finance,
    path: () => '/staff/corrections?account=Kuehn',
    why: noAccount,
    typed: 'value="Kuehn"',
  },
  'charges of a period': {
    by: () => finance,
    path: () => `/staff/overage/${accountId}/${month}-01?on=24.11.2026&search=cats`,
    why: `On: is not a ${day}`,
    typed: 'value="cats"',
  },
  'accounts of a month': {
    by: () => finance,
    path: () => `/staff/months/${month}?account=Kuehn&not_invoiced=yes`,
    why: noAccount,
    typed: 'value="Kuehn"',
  },
  'the sales book': {
    by: () => finance,
    path: () => '/staff/sales-book?issued=November&country=de',
    why: 'Issued: is not a month such as 2026-11',
    typed: 'value="de"',
  },
  'looks at personal data': {
    by: () => admin,
    path: () => `/staff/people/looks?account=Kuehn`,
    why: noAccount,
    typed: 'value="Kuehn"',
  },
};

describe('filters that are refused keep what was typed, and say what is expected', () => {
  it.each(Object.keys(refused))('%s', async (name) => {
    const { by, path, why, typed } = refused[name]!;
    const page = await by()!.get(path());
    expect(page.status).toBe(400);
    expect(textOf(page)).toContain(why);
    const [, form = ''] = /<form method="get"([^]*?)<\/form>/.exec(page.text) ?? [];
    expect(form).toContain(typed);
    expect(page.text).toContain('role="alert"');
  });
});

it('an address that is none has no form that would mend it', async () => {
  const page = await finance!.get('/staff/months/November?account=Kuehn');
  expect(page.status).toBe(400);
  expect(page.text).not.toContain('<form method="get"');
});
