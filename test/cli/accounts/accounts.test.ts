import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../../http/shared-service.ts';
import { queue } from '../../support/downloads.ts';
import { against, expectRefusal, expectText } from '../command-line.ts';

const service = shareService(noDownloads);
const run = against(service);
const unknownAccount = 'acc_aaaaaaaaaaaaaaaaaaaa';
const anyInstant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/) as unknown;

describe('accounts open', () => {
  it('opens an account whose first period is there when it returns', async () => {
    const { cli } = service;
    const opened = await cli<{ account_id: string }>(
      'accounts',
      'open',
      '--email',
      'a@example.com',
      '--plan',
      'dev_100',
    );
    const { account_id: accountId } = opened;
    expect(opened).toEqual({
      account_id: expect.stringMatching(/^acc_[a-z0-9]{16,32}$/) as unknown,
      email: 'a@example.com',
      plan: 'dev_100',
    });
    expect(await cli('accounts', 'show', accountId)).toEqual({
      account_id: accountId,
      email: 'a@example.com',
      plan: 'dev_100',
      downloads: { limit: 100, used: 0, remaining: 100 },
      metadata: { limit: 500, used: 0, remaining: 500 },
      overage: { downloads: 0, cents: 0 },
      fee_cents: 1900,
      overage_cap_cents: null,
      period_start: instant,
      period_end: instant,
      coming: null,
      active_keys: 0,
      max_keys: 5,
      suspended: false,
      closing_requested_at: null,
      closed: false,
      erased: false,
    });
  });

  it('says the same to people', async () => {
    const ran = await run('accounts', 'open', '--email', 'b@example.com', '--plan', 'sandbox');
    expectText(ran, /^account_id +acc_\w+\nemail +b@example\.com\nplan +sandbox\n$/);
  });

  it('refuses a plan or an address that there is not, and what is missing', async () => {
    const open = (email: string, plan: string) => run('accounts', 'open', '--email', email, '--plan', plan);
    const [plan, email, missing] = await Promise.all([
      open('c@example.com', 'gold'),
      open('nobody', 'sandbox'),
      run('accounts', 'open', '--plan', 'sandbox'),
    ]);
    expectRefusal(
      plan,
      /there is no plan gold; the plan file has sandbox, dev_100, studio_500, scale_2000, enterprise/,
    );
    expectRefusal(email, /nobody is not an e-mail address/);
    expectRefusal(missing, /--email <address>/);
  });
});

describe('accounts show, plan and cap', () => {
  it('tell people how an account stands, and change what it pays for', async () => {
    const { url, sampleUrl } = service;
    const { accountId, key } = await service.openAccount('dev_100');
    expect(await service.cli('accounts', 'cap', accountId, '5000')).toEqual({
      account_id: accountId,
      overage_cap_cents: 5000,
      effective: 'now',
      in_force_from: anyInstant,
      changed: true,
    });
    await queue(url, key, { url: sampleUrl('private') });
    // Never behind a 202, whatever the read models know yet.
    const shown = await run('accounts', 'show', accountId);
    expectText(shown, /^downloads +1 of 100$/m);
    expectText(shown, /^overage +0 downloads, \$0\.00$/m);
    expectText(shown, /^overage_cap +\$50\.00$/m);
    expectText(shown, /^fee +\$19\.00$/m);
    expectText(shown, /^active_keys +1 of 5$/m);

    expectText(await run('accounts', 'cap', accountId, '5'), /overage charges stop at \$0\.05 from now on\n$/);
    expectText(await run('accounts', 'cap', accountId, 'none'), /overage charges have no cap from now on\n$/);
    // Told twice, it is the same.
    expectText(await run('accounts', 'cap', accountId, 'none'), /overage charges have no cap from now on\n$/);
    expect(await service.cli('accounts', 'cap', accountId, 'none')).toMatchObject({
      changed: false,
      in_force_from: null,
    });
    expect(await service.cli('accounts', 'show', accountId)).toMatchObject({
      plan: 'dev_100',
      downloads: { limit: 100, used: 1, remaining: 99 },
      overage_cap_cents: null,
    });
  });

  it.concurrent.each([
    ['show', [unknownAccount], /there is no account acc_aaaaaaaaaaaaaaaaaaaa/],
    ['plan', [unknownAccount, 'sandbox'], /there is no account acc_aaaaaaaaaaaaaaaaaaaa/],
    ['cap', [unknownAccount, '100'], /there is no account acc_aaaaaaaaaaaaaaaaaaaa/],
    ['plan', [unknownAccount, 'gold'], /there is no plan gold/],
    ['show', ['nonsense'], /an account id is acc_ and 16 to 32 lower-case letters and digits/],
    ['cap', [unknownAccount, '1.5'], /1\.5 is not a number of cents/],
    ['cap', [unknownAccount, 'much'], /much is not a number of cents/],
    ['cap', [unknownAccount, '--', '-1'], /-1 is not a number of cents/],
    ['cap', [unknownAccount], /missing required argument 'cents'/],
    ['plan', [unknownAccount, 'sandbox', 'dev_100'], /too many arguments/],
    ['plan', [unknownAccount, 'sandbox', '--effective', 'later'], /Allowed choices are now, next/],
    ['terms', [unknownAccount], /nothing to change: give --downloads, --metadata/],
    ['terms', [unknownAccount, '--hourly', '5'], /there is no account acc_aaaaaaaaaaaaaaaaaaaa/],
    ['terms', [unknownAccount, '--hourly', '0'], /give a whole number from 1 to 10000/],
    ['terms', [unknownAccount, '--downloads', '1e3'], /give a whole number from 0 to 1000000000/],
    ['terms', [unknownAccount, '--downloads', '1000000001'], /give a whole number from 0 to 1000000000/],
    ['terms', [unknownAccount, '--overage-cents', '0'], /a price is at least 1 cent/],
    ['terms', [unknownAccount, '--overage-cents', '0.5'], /0\.5 is not a number of cents/],
    ['terms', [unknownAccount, '--fee-cents', 'none'], /none is not a number of cents/],
    ['usage', [unknownAccount], /there is no account acc_aaaaaaaaaaaaaaaaaaaa/],
    ['usage', [unknownAccount, '--period', '21.11.2026'], /write a day like 2026-11-21/],
  ])('refuse: accounts %s %j', async (command, words, message) => {
    expectRefusal(await run('accounts', command, '--json', ...words), message);
  });
});
