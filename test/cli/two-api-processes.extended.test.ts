import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exhaust } from '../http/requests.ts';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { unexpectedLines } from '../support/log-lines.ts';
import { scaled } from '../support/proof-scale.ts';
import type { ServiceProcess } from '../support/service.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';

/** What an operator's command has acknowledged holds for the next request, whichever process answers it. */
let apis: [ServiceProcess, ServiceProcess];

// The real plans, but Dev 100 with one download included, so that it runs out at once. Nobody downloads anything here.
const plans = readFileSync(join(import.meta.dirname, '../../deploy/plans.json'), 'utf8');
const file = join(temporaryDirectoryOfFile(), 'plans.json');
writeFileSync(file, plans.replace('"downloads_limit": 100,', '"downloads_limit": 1,'));
const installation = installationOfFile({ PLANS_FILE: file });

beforeAll(async () => {
  await installation.startRole('projector');
  apis = await Promise.all([installation.startRole('api'), installation.startRole('api')]);
});

afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()));
  for (const api of apis) expect(unexpectedLines(api.log())).toEqual([]);
});

const cli = (...words: string[]) => installation.cli(words);

/** The same request to each of the two processes at once. @returns code of the error, else the status */
async function onBoth(path: string, key: string, body?: object): Promise<(string | number)[]> {
  const answers = await Promise.all(apis.map(({ url }) => call(url, path, { key, ...(body && { body }) })));
  return answers.map(({ code, status }) => code ?? status);
}

const download = (key: string) => onBoth('/video/download', key, { url: installation.sampleUrl('private') });
const both = (answer: string | number) => [answer, answer];

describe('two warm API processes', () => {
  it('both refuse a key from the next request on after "keys revoke"', async () => {
    for (let round = 0; round < scaled(2, 10); round += 1) {
      const { key, keyId } = await installation.openAccount('dev_100');
      expect(await onBoth('/credits', key)).toEqual(both(200));
      await cli('keys', 'revoke', keyId);
      expect(await onBoth('/credits', key)).toEqual(both('unauthorized'));
      expect(await download(key)).toEqual(both('unauthorized'));
    }
  });

  it('both take a key from the first request on after "keys issue"', async () => {
    const { accountId } = await installation.openAccount('dev_100');
    const key = String((await cli('keys', 'issue', accountId))['key']);
    expect(await onBoth('/credits', key)).toEqual(both(200));
  });

  it('both obey "accounts cap" with the next request, also where both had just refused', async () => {
    const { accountId, key } = await installation.openAccount('dev_100');
    const cap = (cents: string) => cli('accounts', 'cap', accountId, cents);
    // The allowance, and one charge beyond it.
    expect(await download(key)).toEqual(both(202));
    await cap('25');
    expect(await download(key)).toEqual(both('overage_cap_reached'));
    await cap('75');
    expect(await download(key)).toEqual(both(202));
    expect(await download(key)).toEqual(both('overage_cap_reached'));
    await cap('none');
    expect(await download(key)).toEqual(both(202));
    await cap('0');
    expect(await download(key)).toEqual(both('overage_cap_reached'));
    expect(await cli('accounts', 'show', accountId)).toMatchObject({ overage: { downloads: 5, cents: 125 } });
  });

  it('both obey "accounts plan" with the next request, also where both had just refused', async () => {
    const { accountId, key } = await installation.openAccount('sandbox');
    const plan = (name: string) => cli('accounts', 'plan', accountId, name, '--effective', 'now');
    expect(await download(key)).toEqual(both('download_quota_exceeded'));
    await plan('studio_500');
    expect(await download(key)).toEqual(both(202));
    await plan('sandbox');
    expect(await download(key)).toEqual(both('download_quota_exceeded'));
  });

  it('both obey the hourly limit of the new plan', async () => {
    const { accountId, key } = await installation.openAccount('sandbox');
    await exhaust(apis[0].url, key);
    expect(await onBoth('/credits', key)).toEqual(both('rate_limited'));
    await cli('accounts', 'plan', accountId, 'studio_500');
    expect(await onBoth('/credits', key)).toEqual(both(200));
    await cli('accounts', 'plan', accountId, 'sandbox', '--effective', 'now');
    expect(await onBoth('/credits', key)).toEqual(both('rate_limited'));
  });
});
