import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { call } from '../support/client.ts';
import { expectRefusal, expectText, runIn } from './command-line.ts';

const service = shareService(noDownloads);
/** Processes of their own, because several ask at once. */
const run = (...words: string[]) => runIn({ REELTALLY_DATA: service.dataDirectory })(...words);
const open = (reference: string, email = 'owner@example.com', plan = 'dev_100') =>
  run('accounts', 'open', '--json', '--email', email, '--plan', plan, '--reference', reference);
const issue = (accountId: string) => run('keys', 'issue', '--json', accountId, '--reference', 'ci', '--label', 'ci');

const answered = (ran: { code: number | null; stdout: string; stderr: string }) => {
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(ran.stdout) as Record<string, unknown>;
};

describe('a reference', () => {
  it('given again, by several processes at once too, changes nothing and prints the same account', async () => {
    const [first, second] = (await Promise.all([open('order-1'), open('order-1')])).map(answered);
    const third = answered(await open('order-1'));
    expect([second, third]).toEqual([first, first]);
    const accountId = String(first?.['account_id']);
    const { invoices } = await service.cli<{ invoices: unknown[] }>('invoices', 'list', accountId);
    expect(invoices).toHaveLength(1);
    // Another plan by now is no difference from what was asked for then.
    await service.cli('accounts', 'plan', accountId, 'studio_500');
    expect(answered(await open('order-1'))).toEqual(first);
  });

  it('given again for something else is refused, with what differs', async () => {
    const { account_id: accountId } = answered(await open('order-2'));
    const already = `the reference order-2 has already opened ${String(accountId)}, with`;
    expectRefusal(
      await open('order-2', 'other@example.com'),
      new RegExp(`${already} e-mail owner@example\\.com$`, 'm'),
    );
    expectRefusal(await open('order-2', 'owner@example.com', 'sandbox'), new RegExp(`${already} plan dev_100$`, 'm'));
    expectRefusal(await open('order 2'), /a reference is up to 100 letters/);
  });

  it('of a key: one key, shown to one of those who ask', async () => {
    const accountId = String(answered(await open('order-3'))['account_id']);
    const issued = (await Promise.all([issue(accountId), issue(accountId)])).map(answered);
    const shown = issued.filter(({ key }) => key !== null);
    expect(shown).toHaveLength(1);
    const again = answered(await issue(accountId));
    for (const answer of [...issued, again]) expect({ ...answer, key: null }).toEqual({ ...shown[0], key: null });
    const { status } = await call(service.url, '/credits', { key: String(shown[0]?.['key']) });
    expect(status).toBe(200);
    const { keys } = await service.cli<{ keys: unknown[] }>('keys', 'list', accountId);
    expect(keys).toHaveLength(1);

    expectText(await run('keys', 'issue', accountId, '--reference', 'ci'), /^key +-$/m);
    await service.cli('keys', 'revoke', String(again['key_id']));
    expectText(
      await run('keys', 'issue', accountId, '--reference', 'ci'),
      /was shown once, .*, and has been revoked since\./,
    );
  });
});
