import { describe, expect, it } from 'vitest';
import { runSql } from '../../http/engines-behind.ts';
import { call } from '../../support/client.ts';
import { against, expectRefusal, expectText, saidBy } from '../command-line.ts';
import { chargedAccount, chargingService } from './charging-service.ts';

const service = chargingService();
const run = against(service);

interface Ledger {
  account_id: string;
  period_start: string;
  total_cents: number;
  rows: { type: string; event_id: string; stream: string; revision: number; token: string | null; cents: number }[];
  log: { total_cents: number; charges: number; corrections: number };
  behind: boolean;
}

describe('ledger show', () => {
  it('shows each charge with its event and its rate, and a total that the log agrees with', async () => {
    const { accountId, key, tokens } = await chargedAccount(service, 2);
    const { url, sampleUrl } = service;
    const lookedUp = await call(url, `/video/metadata?url=${encodeURIComponent(sampleUrl('bars'))}`, { key });
    expect(lookedUp.status).toBe(200);
    const ledger = await service.cli<Ledger>('ledger', 'show', accountId);
    const today = ledger.period_start.slice(0, 10);
    const stream = `usage-${accountId}-${today.replaceAll('-', '')}`;
    const event_id = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;
    const credit = { stream, event_id, cents: 0, rate_cents: null, rate_version: null };
    const charge = { stream, event_id, cents: 25, rate_cents: 25, rate_version: 'test', type: 'OverageCharged' };
    expect(ledger).toMatchObject({ account_id: accountId, total_cents: 50, behind: false });
    expect(ledger.log).toEqual({ total_cents: 50, charges: 4, corrections: 0 });
    expect(ledger.rows).toMatchObject([
      { ...credit, type: 'DownloadCreditDebited', revision: 1, token: tokens[0] },
      { ...charge, revision: 3, token: tokens[1] },
      { ...charge, revision: 5, token: tokens[2] },
      { ...credit, type: 'MetadataCreditDebited', revision: 7, token: null },
    ]);
    // From a row to the job that it paid for, and to the same event there.
    const timeline = await service.cli<{ rows: { event_id: string }[] }>('jobs', 'timeline', tokens[1] ?? '');
    expect(timeline.rows[0]?.event_id).toBe(ledger.rows[1]?.event_id);

    expect(await service.cli('ledger', 'show', accountId, '--period', today)).toEqual(ledger);
    const text = await run('ledger', 'show', accountId);
    expectText(text, /^time +type +for +event +stream +revision +rate +charge\n/);
    expectText(text, / OverageCharged .* 3 +\$0\.25 \(test\) +\$0\.25\n/);
    expectText(text, / MetadataCreditDebited .* 7 +- +\$0\.00\n/);
    expectText(text, /\n4 charges, \$0\.50 in all, as in the log\n$/);
  });

  it('of an account that has used nothing is empty', async () => {
    const { accountId } = await service.openAccount('test');
    expect(await service.cli('ledger', 'show', accountId)).toMatchObject({ total_cents: 0, rows: [] });
  });

  it.each([
    [
      'another amount',
      'update overage_ledger set cents = 24 where account_id = $1 and revision = 3',
      'differs in the ledger',
    ],
    [
      'another owner',
      'update overage_ledger set token = $$t$$ where account_id = $1 and revision = 3',
      'differs in the ledger',
    ],
    ['too few rows', 'delete from overage_ledger where account_id = $1 and revision = 3', 'is not in the ledger'],
  ])('fails where the ledger has %s, until it is rebuilt', async (_what, damage, how) => {
    const { accountId } = await chargedAccount(service, 2);
    await service.cli('ledger', 'show', accountId);
    expect(await runSql(service, damage, [accountId])).toBe(1);
    const ran = await run('ledger', 'show', accountId, '--json');
    expect(ran.code).toBe(1);
    expect(saidBy(ran)).toMatch(
      /^reeltally: the ledger has .* but up to the same position the log has 3 charges, \$0\.50/,
    );
    expect(saidBy(ran)).toContain(`event 3 of usage-${accountId}-`);
    expect(saidBy(ran)).toContain(how);
    expect((JSON.parse(ran.stdout) as Ledger).log).toEqual({ total_cents: 50, charges: 3, corrections: 0 });

    const rebuilt = await service.cli('projections', 'rebuild', 'overage_ledger');
    expect(rebuilt).toMatchObject({ name: 'overage_ledger', identical: false });
    expect(await service.cli('ledger', 'show', accountId)).toMatchObject({ total_cents: 50 });
    const again = await run('projections', 'rebuild', 'overage_ledger');
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/^overage_ledger is rebuilt from \d+ events in .*\nThe old tables were identical:/);
    expect(again.stderr).toMatch(/^(?:overage_ledger {2} *\d+ % {2}\d+ events {2}\d+\/s\n)+$/);
    expect(again.stderr).toMatch(/^overage_ledger {2}100 %/m);
  });

  it('refuses an account and a period that there are not', async () => {
    const nobody = 'acc_aaaaaaaaaaaaaaaaaaaa';
    expectRefusal(await run('ledger', 'show', nobody), /there is no account acc_a/);
    const { accountId } = await service.openAccount('test');
    expectRefusal(await run('ledger', 'show', accountId, '--period', '2020-02-29'), /no billing period that starts on/);
  });
});
