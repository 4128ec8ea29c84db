import { describe, expect, it } from 'vitest';
import { noDownloads, ownService } from '../http/shared-service.ts';
import { against, expectRefusal, expectText } from './command-line.ts';

// One of its own, because there is one issuer.
const service = ownService({ ...noDownloads, INVOICE_ISSUER: 'Tally & Co' });
const run = against(service);
const none = { name: null, address_lines: [], country: null, tax_id: null };

describe('accounts billing', () => {
  it('shows the details, and changes those that it is given', async () => {
    const { cli } = service;
    const { accountId } = await service.openAccount('sandbox');
    const billing = (...words: string[]) => cli('accounts', 'billing', accountId, ...words);
    expect(await billing()).toEqual({ account_id: accountId, ...none });
    const address = ['--address-line', "12 St James's Square", '--address-line', 'London'];
    const changed = { ...none, name: 'Ada Ltd', address_lines: ["12 St James's Square", 'London'], country: 'GB' };
    expect(await billing('--name', 'Ada Ltd', ...address, '--country', 'GB')).toEqual({
      account_id: accountId,
      ...changed,
    });
    expect(await billing('--country', '', '--tax-id', 'GB1')).toMatchObject({ country: null, tax_id: 'GB1' });
    const removed = { ...changed, address_lines: [], country: null, tax_id: 'GB1' };
    expect(await billing('--address-line', '')).toEqual({ account_id: accountId, ...removed });
    expectText(await run('accounts', 'billing', accountId), /^name +Ada Ltd\naddress +-\ncountry +-\ntax_id +GB1$/m);
  });

  it('refuses what no document could show, and an account that is not there', async () => {
    const { accountId } = await service.openAccount('sandbox');
    expectRefusal(
      await run('accounts', 'billing', accountId, '--country', 'Germany'),
      /--country is not a country code of two capital letters, such as DE/,
    );
    const lines = Array.from({ length: 7 }, () => ['--address-line', 'x']).flat();
    expectRefusal(await run('accounts', 'billing', accountId, ...lines), /--address-line has more than 6 lines/);
    expectRefusal(await run('accounts', 'billing', 'acc_aaaaaaaaaaaaaaaaaaaa'), /there is no account acc_a/);
  });

  it('refuses a twenty-first change within an hour', async () => {
    const { accountId } = await service.openAccount('sandbox');
    for (let change = 1; change <= 20; change += 1)
      await service.cli('accounts', 'billing', accountId, '--name', String(change));
    expectRefusal(
      await run('accounts', 'billing', accountId, '--name', 'again'),
      /were changed 20 times within an hour, the most that may be: try again later/,
    );
  });
});

describe('issuer show and set', () => {
  it('begin with the name of the settings, and change what they are given', async () => {
    const { cli } = service;
    expect(await cli('issuer', 'show')).toEqual({ ...none, name: 'Tally & Co', email: null });
    const changed = { ...none, name: 'Tally & Co', country: 'IE', email: 'billing@example.com' };
    expect(await cli('issuer', 'set', '--country', 'IE', '--email', 'billing@example.com')).toEqual(changed);
    expect(await cli('issuer', 'show')).toEqual(changed);
    expectText(await run('issuer', 'show'), /^name +Tally & Co\naddress +-\ncountry +IE\n[^]*email +billing@/);
    expectRefusal(await run('issuer', 'set', '--name', ''), /the issuer must have a name/);
    expectRefusal(await run('issuer', 'set', '--email', 'x'), /--email is not an e-mail address/);
    expectRefusal(await run('issuer', 'set'), /say what to set: see "issuer set --help"/);
  });
});
