import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../../http/shared-service.ts';
import { against, expectText } from '../command-line.ts';

const service = shareService(noDownloads);
const run = against(service);
const cli = (...words: string[]) => service.cli(...words);

interface Shown {
  period_start: string;
  period_end: string;
  plan: string;
  fee_cents: number;
  downloads: { limit: number };
  coming: { from: string; terms: Record<string, unknown> } | null;
}
const show = (accountId: string) => service.cli<Shown>('accounts', 'show', accountId);
const open = (plan: string) => service.openAccount(plan);

describe('accounts plan', () => {
  it('brings a dearer plan into force at once, and says what more the period costs', async () => {
    const { accountId } = await open('dev_100');
    const changed = await cli('accounts', 'plan', accountId, 'studio_500');
    expect(changed).toMatchObject({
      account_id: accountId,
      plan: 'studio_500',
      effective: 'now',
      changed: true,
      fee_difference_cents: 4000,
      replaced_plan: null,
      terms: { downloads_limit: 500, fee_cents: 5900 },
    });
    expect(await cli('accounts', 'plan', accountId, 'studio_500')).toMatchObject({
      changed: false,
      in_force_from: null,
      fee_difference_cents: 0,
    });
    expectText(
      await run('accounts', 'plan', accountId, 'scale_2000'),
      / is on scale_2000 from now on; \$90\.00 is added to the fee of this period\n$/,
    );
    // The plan's own price does not fall: nothing more is due, and it is in force at once.
    expectText(await run('accounts', 'plan', accountId, 'scale_2000'), / is on scale_2000 from now on\n$/);
    expect(await show(accountId)).toMatchObject({ plan: 'scale_2000', fee_cents: 14_900, coming: null });
  });

  it('leaves a cheaper plan to the next period, unless it is told otherwise', async () => {
    const { accountId } = await open('studio_500');
    const { period_end: end } = await show(accountId);
    const day = end.slice(0, 10);
    expect(await cli('accounts', 'plan', accountId, 'dev_100')).toMatchObject({
      effective: 'next_period',
      in_force_from: end,
      changed: true,
      fee_difference_cents: 0,
    });
    expectText(
      await run('accounts', 'plan', accountId, 'dev_100'),
      new RegExp(` will be on dev_100 from ${day} on\n$`),
    );
    expect(await show(accountId)).toMatchObject({
      plan: 'studio_500',
      downloads: { limit: 500 },
      coming: { from: end, terms: { plan: 'dev_100', fee_cents: 1900 } },
    });
    expectText(
      await run('accounts', 'show', accountId),
      new RegExp(
        `^coming +from ${day} on dev_100: 100 downloads, \\$0\\.25 for each beyond \\(2026-11\\), 500 metadata requests,`,
        'm',
      ),
    );
    expectText(
      await run('accounts', 'plan', accountId, 'sandbox', '--effective', 'now'),
      new RegExp(` is on sandbox from now on; the change to dev_100 that was due from ${day} on is replaced\n$`),
    );
    expect(await show(accountId)).toMatchObject({ plan: 'sandbox', coming: null });
  });

  it('leaves a dearer plan to the next period where that is asked for', async () => {
    const { accountId } = await open('dev_100');
    expect(await cli('accounts', 'plan', accountId, 'scale_2000', '--effective', 'next')).toMatchObject({
      effective: 'next_period',
      fee_difference_cents: 0,
    });
    expect(await show(accountId)).toMatchObject({ plan: 'dev_100', coming: { terms: { plan: 'scale_2000' } } });
  });
});

describe('accounts terms', () => {
  it('change what is named, and keep the plan’s name and everything else', async () => {
    const { accountId } = await open('dev_100');
    const today = (await show(accountId)).period_start.slice(0, 10);
    const changed = await cli(
      ...['accounts', 'terms', accountId, '--downloads', '7', '--overage-cents', '20', '--hourly', '60'],
    );
    expect(changed).toMatchObject({
      plan: 'dev_100',
      effective: 'now',
      fee_difference_cents: 0,
      terms: {
        downloads_limit: 7,
        metadata_limit: 500,
        overage_cents: 20,
        rate_version: `own-${today}-20`,
        fee_cents: 1900,
        hourly_limit: 60,
      },
    });
    expectText(
      await run('accounts', 'terms', accountId, '--overage-cents', 'none', '--metadata', '9'),
      / is on terms of its own \(7 downloads, no downloads beyond the allowance, 9 metadata requests, \$19\.00 a month, 60 requests an hour for each of 5 keys\) from/,
    );
    expectText(
      await run('accounts', 'terms', accountId, '--fee-cents', '2500'),
      / from now on; \$6\.00 is added to the fee of this period\n$/,
    );
    expect(await show(accountId)).toMatchObject({ plan: 'dev_100', fee_cents: 2500, downloads: { limit: 7 } });
  });

  it('leave a lower fee to the next period, and go on from what is due then', async () => {
    const { accountId } = await open('studio_500');
    expect(await cli('accounts', 'terms', accountId, '--fee-cents', '5000')).toMatchObject({
      effective: 'next_period',
      terms: { fee_cents: 5000, rate_version: '2026-11' },
    });
    expect(await cli('accounts', 'terms', accountId, '--downloads', '600', '--effective', 'next')).toMatchObject({
      replaced_plan: 'studio_500',
      terms: { fee_cents: 5000, downloads_limit: 600 },
    });
    expect(await show(accountId)).toMatchObject({
      fee_cents: 5900,
      downloads: { limit: 500 },
      coming: { terms: { fee_cents: 5000, downloads_limit: 600, plan: 'studio_500' } },
    });
  });
});

describe('accounts terms beside a plan that is due', () => {
  it('keep it, hold in it too, and say so; the books are as the audit has them', async () => {
    const { accountId } = await open('studio_500');
    await cli('accounts', 'plan', accountId, 'dev_100');
    const { period_end: end } = await show(accountId);
    expectText(
      await run('accounts', 'terms', accountId, '--downloads', '600'),
      new RegExp(
        ` is on terms of its own \\(600 downloads, [^)]+\\)[^;]* from now on; what is due from ${end.slice(0, 10)} on ` +
          'stays, with the same changes: dev_100 \\(600 downloads, [^;]+, \\$19\\.00 a month, [^;]+\\)\n$',
      ),
    );
    expect(await cli('accounts', 'terms', accountId, '--metadata', '700')).toMatchObject({
      plan: 'studio_500',
      effective: 'now',
      replaced_plan: null,
      kept_plan: { plan: 'dev_100', from: end, fee_cents: 1900, downloads_limit: 600, metadata_limit: 700 },
      terms: { downloads_limit: 600, metadata_limit: 700, fee_cents: 5900 },
    });
    expect(await show(accountId)).toMatchObject({
      plan: 'studio_500',
      fee_cents: 5900,
      downloads: { limit: 600 },
      coming: { from: end, terms: { plan: 'dev_100', fee_cents: 1900, downloads_limit: 600, metadata_limit: 700 } },
    });
    expect(await cli('ledger', 'verify')).toMatchObject({ divergences: [] });
  });
});

describe('accounts cap', () => {
  it('waits for the next period where that is asked for', async () => {
    const { accountId } = await open('dev_100');
    const { period_end: end } = await show(accountId);
    expect(await cli('accounts', 'cap', accountId, '700', '--effective', 'next')).toEqual({
      account_id: accountId,
      overage_cap_cents: 700,
      effective: 'next_period',
      in_force_from: end,
      changed: true,
    });
    expect(await show(accountId)).toMatchObject({
      overage_cap_cents: null,
      coming: { from: end, terms: { overage_cap_cents: 700, plan: 'dev_100' } },
    });
    expectText(
      await run('accounts', 'cap', accountId, 'none', '--effective', 'next'),
      new RegExp(`overage charges have no cap from ${end.slice(0, 10)} on\n$`),
    );
  });
});
