import { expect, it } from 'vitest';
import { type History, historyPage } from '../../src/console/history.ts';
import { given, opened } from '../domain/usage-examples.ts';

/** What the page of both consoles says beside a change. */
const usage = given(opened({ downloads_limit: 1_200, overage_cap_cents: 50_000 }));
const now = usage.period.start;

type ChangeRow = History['changes'][number];

function cells(after: ChangeRow['after']): string {
  const metadata = { time: now, actor: { type: 'system', id: 'test' } };
  const change = { event: { type: 'AccountClosed', data: {} }, position: 7n, metadata, after } as unknown as ChangeRow;
  const history = {
    changes: [change],
    account: { keys: new Map(), people: new Map() },
    documents: new Map(),
    kind: undefined,
    next: null,
  } as unknown as History;
  const place = { path: '/', by: () => 'us', eventOf: () => '', planNames: new Map() } as never;
  return historyPage(history, place)
    .text.replaceAll(/<[^>]+>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ');
}

it('says what stood after it', () => {
  const used = { ...usage, downloadCredits: 1_200, overageDownloads: 2, overageCents: 1_050 };
  expect(cells({ usage: used, now })).toContain(', cap $500.00 1,200 of 1,200 used, 0 left $10.50 for 2');
  const terms = { ...usage.terms, overage_cap_cents: null };
  expect(cells({ usage: { ...usage, terms }, now })).toContain(', no cap 0 of 1,200 used, 1,200 left none');
});

it('says nothing before the opening, and why where it would take too long', () => {
  expect(cells('before_opening')).not.toMatch(/used|not shown/);
  expect(cells('not_read')).toMatch(
    / not shown .*not shown where more than 10,000 events would have to be read for it\./,
  );
});
