import { describe, expect, it } from 'vitest';
import { warningMail } from '../../src/dispatcher/warning-mail-text.ts';
import type { Notice } from '../../src/domain/mail-record.ts';
import type { Terms } from '../../src/domain/plans.ts';
import { accountId, given, opened } from '../domain/usage-examples.ts';

const eventId = '6f1c2a58-5b7e-5d0e-9d4b-3a1f0c9b8e77';

const told = (notice: Notice, terms: Partial<Terms>) =>
  warningMail(
    {
      eventId,
      notice,
      time: '2026-11-14T12:00:00.000Z',
      usage: given(opened({ downloads_limit: 100, ...terms })),
    },
    {
      to: ['owner@example.com'],
      publicUrl: 'https://reeltally.test',
      planNames: new Map([['dev_100', 'Dev 100']]),
    },
  );
const mailOf = (data: Extract<Notice, { type: 'UsageWarningReached' }>['data'], terms: Partial<Terms> = {}) =>
  told({ type: 'UsageWarningReached', data }, terms);

const keyId = 'key_4f8j2n6r0w3x7z1b';
const downloads = { pool: 'downloads', threshold_percent: 80, used: 80, limit: 100 } as const;
const allDownloads = { ...downloads, threshold_percent: 100, used: 100 } as const;

describe('a warning mail', () => {
  it('says which pool, how much of it is used, until when, and what comes then', () => {
    expect(mailOf(downloads, { overage_cap_cents: 5000 })).toEqual({
      id: eventId,
      to: ['owner@example.com'],
      subject: '80 % of the downloads of this period are used',
      date: '2026-11-14T12:00:00.000Z',
      text: `Your account ${accountId} has used
80 of the 100 downloads that its plan,
Dev 100, includes in a billing period: 80 %.

Once all are used, each further download costs $0.25.
Your cap on these charges is $50.00 per period;
a download that would exceed it is refused.

This period began on 2026-11-01 and ends on 2026-12-01, at 00:00 UTC.
The allowance of the plan is then available again.

To change the plan or the cap, open
https://reeltally.test/console/settings

These figures are of 2026-11-14, 12:00:00 UTC.
This mail is sent when 80 % are used.
`,
    });
  });

  it.each([
    [allDownloads, {}, 'From now on, each further download costs $0.25.\nYou have set no cap on these charges.\n'],
    [allDownloads, { overage_cents: null }, 'From now on, downloads are refused until the period ends.\n'],
    [downloads, { overage_cents: null }, 'Once all are used, downloads are refused until the period ends.\n'],
    [
      { pool: 'metadata', threshold_percent: 100, used: 50, limit: 50 } as const,
      {},
      'From now on, metadata requests are refused until the period ends.\n',
    ],
  ])('tells what comes next: %j with %j', (data, terms, text) => {
    expect(mailOf(data, terms).text).toContain(`\n\n${text}\n`);
  });

  it('says that the cap is reached, and what that means', () => {
    const data = { overage_cents: 4_990, overage_cap_cents: 5_000 };
    expect(told({ type: 'OverageCapReached', data }, { overage_cap_cents: 5_000 })).toEqual({
      id: eventId,
      to: ['owner@example.com'],
      subject: 'Your cap on overage charges is reached',
      date: '2026-11-14T12:00:00.000Z',
      text: `Your account ${accountId} has used all downloads
that its plan, Dev 100, includes in a billing period,
and further ones for $49.90.
Your cap on these charges is $50.00 per period;
one more, at $0.25, would exceed it.

From now on, downloads are refused until the period ends or the cap is
raised.

This period began on 2026-11-01 and ends on 2026-12-01, at 00:00 UTC.
The allowance of the plan is then available again.

To raise the cap, open
https://reeltally.test/console/settings#cap

These figures are of 2026-11-14, 12:00:00 UTC.
This mail is sent when the cap is reached.
`,
    });
  });

  it.each([
    [
      { pool: 'downloads', threshold_percent: 80, used: 4, limit: 5 } as const,
      '80 % of the limit of an API key are used',
      '4 of the 5 downloads\nthat you allow it in a billing period.\n\nOnce all is used,',
    ],
    [
      { pool: 'overage', threshold_percent: 100, used: 25, limit: 40 } as const,
      'The limit of an API key is reached',
      '$0.25 of the $0.40 of overage\nthat you allow it in a billing period.\n\nFrom now on,',
    ],
  ])('names the key whose limit it is about: %j', (data, subject, text) => {
    const mail = mailOf({ ...data, limited_key_id: keyId });
    expect(mail.subject).toBe(subject);
    expect(mail.text).toContain(`The key ${keyId}\nof your account ${accountId} has used\n${text}`);
    expect(Math.max(...mail.text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(76);
  });

  it.each([
    ['downloads', null, 'until\nthe period ends or the limit is raised.', 'then counts from zero again'],
    ['overage', null, 'until\nthe period ends or the limit is raised.', 'then counts from zero again'],
    ['downloads', '2026-12-02', 'until\nthe period ends or the limit is raised.', 'then counts from zero again'],
    ['overage', '2026-11-21', 'until\nthe limit is raised.', 'This key is valid through 2026-11-20, and no longer.'],
    ['downloads', '2026-12-01', 'until\nthe limit is raised.', 'This key is valid through 2026-11-30, and no longer.'],
  ] as const)('says what comes after the period for %s of a key with an end at %s', (pool, day, refused, then) => {
    const until = day === null ? null : `${day}T00:00:00.000Z`;
    const limit = { downloads: 5, overage_cents: 40, until };
    const { text } = mailOf(
      { pool, threshold_percent: 100, used: 5, limit: 5, limited_key_id: keyId },
      { key_limits: { [keyId]: limit } },
    );
    expect(text).toContain(refused);
    expect(text).toContain(then);
    expect(text).not.toContain('The allowance of the plan');
  });

  it('has lines that no mail program breaks', () => {
    const long = mailOf(
      { pool: 'metadata', threshold_percent: 100, used: 1_000_000_000, limit: 1_000_000_000 },
      { plan: 'a_plan_with_the_longest_name_of_a' },
    );
    const largest = { overage_cents: 1_000_000_000_000, overage_cap_cents: 1_000_000_000_000 };
    const cap = told({ type: 'OverageCapReached', data: largest }, { overage_cents: 1_000_000_000_000 });
    for (const { text } of [long, cap])
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(76);
    expect(long.subject.length).toBeLessThanOrEqual(78);
  });
});
