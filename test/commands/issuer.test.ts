import { expect, it } from 'vitest';
import { changeIssuerDetails, readIssuer } from '../../src/commands/issuer.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { patienceMs } from '../support/wait-for.ts';
import { logUnderTest } from './log-under-test.ts';
import { expectUnbrokenChain } from './unbroken-chain.ts';

const log = logUnderTest();

const actor = { type: 'staff', id: 'R. Example', role: 'operator', reason: 'command line' } as const;
const request = () => ({ correlationId: newUuid(), actor, timeoutMs: patienceMs });

// One test: the issuer has one stream, which tests of one log share.
it('the issuer has the name of the settings until a change, which keeps what it does not name', async () => {
  const dependencies = { store: log.store, now: () => '2026-12-01T00:00:00.000Z', newUuid };
  const change = (details: Parameters<typeof changeIssuerDetails>[1]['details'], name = 'By Setting') =>
    changeIssuerDetails(dependencies, { name, details, ...request() });
  const unchanged = { name: 'By Setting', address_lines: [], country: null, tax_id: null, email: null };
  expect(await readIssuer(log.store, 'By Setting')).toEqual(unchanged);

  // Even a change to what the settings say is stored, and holds whatever the settings say later.
  expect(await change({ name: 'By Setting' })).toEqual(unchanged);
  expect(await readIssuer(log.store, 'Another')).toEqual(unchanged);
  const moved = { ...unchanged, address_lines: ['1 Film Row', 'Dublin'], country: 'IE' };
  expect(await change({ address_lines: moved.address_lines, country: 'IE' }, 'Another')).toEqual(moved);
  expect(await change({ country: 'IE' }, 'Another')).toEqual(moved);

  const recorded = await log.store.read('issuer', 0);
  expectUnbrokenChain(recorded);
  expect(recorded.map(({ type, data }) => ({ type, data }))).toEqual([
    { type: 'IssuerDetailsChanged', data: unchanged },
    { type: 'IssuerDetailsChanged', data: moved },
  ]);
  expect(recorded[1]?.metadata).toMatchObject({ actor });
});
