import { describe, expect, it } from 'vitest';
import { noDownloads, shareService } from '../http/shared-service.ts';
import { against, expectRefusal, expectText } from './command-line.ts';

const service = shareService(noDownloads);
const run = against(service);
const unknownAccount = 'acc_aaaaaaaaaaaaaaaaaaaa';
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;

interface Listed {
  people: { person_id: string; since: string; email: string }[];
}

describe('people invite, list and remove', () => {
  it('add a person once, list the opener first, and remove by address or id', async () => {
    const { cli } = service;
    const { accountId } = await service.openAccount('sandbox');
    const list = async () => (await cli<Listed>('people', 'list', accountId)).people;
    const [opener] = await list();
    expect(opener).toMatchObject({ person_id: accountId.replace('acc_', 'per_'), since: instant });
    const invited = await cli<{ person_id: string }>('people', 'invite', accountId, 'ada@example.com');
    const ada = { person_id: expect.stringMatching(/^per_[a-z0-9]{16,32}$/) as unknown, since: instant };
    expect(invited).toEqual({ account_id: accountId, ...ada, email: 'ada@example.com' });
    expect(await cli('people', 'invite', accountId, 'ADA@example.com')).toEqual(invited);
    expect((await list()).map(({ email }) => email)).toEqual([opener?.email, 'ada@example.com']);
    const listed = await run('people', 'list', accountId);
    expectText(listed, /^person_id +since +email\n/);

    const removed = await cli('people', 'remove', accountId, 'Ada@example.com');
    expect(removed).toEqual({ account_id: accountId, person_id: invited.person_id, removed: true });
    expect(await list()).toEqual([opener]);
    expectText(await run('people', 'remove', accountId, invited.person_id), /^ada@example\.com is removed from acc_/);
  });

  it('refuse the last person, an unknown one, an account that is not there, and what is no address', async () => {
    const { accountId } = await service.openAccount('sandbox');
    const opener = accountId.replace('acc_', 'per_');
    expectRefusal(
      await run('people', 'remove', accountId, opener),
      /is the last person of acc_\w+: invite another first/,
    );
    expectRefusal(
      await run('people', 'remove', accountId, 'x@example.com'),
      /has no person x@example\.com: "people list acc_/,
    );
    expectRefusal(await run('people', 'remove', accountId, 'per_aaaaaaaaaaaaaaaaaaaa'), /has no person per_a/);
    expectRefusal(await run('people', 'list', unknownAccount), /there is no account acc_a/);
    expectRefusal(await run('people', 'invite', unknownAccount, 'x@example.com'), /there is no account acc_a/);
    expectRefusal(await run('people', 'invite', accountId, 'nobody'), /nobody is not an e-mail address/);
  });
});
