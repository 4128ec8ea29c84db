import { beforeAll, expect, it } from 'vitest';
import { noDownloads, ownService } from '../http/shared-service.ts';
import { type AccountWithDownloads, accountWithDownloads } from '../support/downloads.ts';
import { planFile } from '../support/plans.ts';
import { runOnTerminal } from '../support/service.ts';
import { against } from './command-line.ts';

/** A person sees what a program gets, and a bar that moves besides. */
const service = ownService({ ...noDownloads, PLANS_FILE: planFile({ downloads_limit: 1, overage_cents: 25 }) });
const run = against(service);
let account: AccountWithDownloads;

beforeAll(async () => {
  account = await accountWithDownloads(service, ['private', 'private']);
});

const wordsOf = (command: string) =>
  command
    .replace('ACCOUNT', account.accountId)
    .replace('TOKEN', account.tokens[1] ?? '')
    .split(' ');

it.each([
  'ledger verify',
  'ledger verify --account ACCOUNT',
  'ledger show ACCOUNT',
  'accounts show ACCOUNT',
  'accounts usage ACCOUNT',
  'jobs show TOKEN',
  'jobs timeline TOKEN',
  'keys list ACCOUNT',
  'invoices list ACCOUNT',
  'projections status',
  'urls explain https://youtu.be/aqz-KE-bpKQ',
])('%s', async (command) => {
  const words = wordsOf(command);
  const { code, screen } = await runOnTerminal(words, { REELTALLY_DATA: service.dataDirectory });
  const piped = await run(...words);
  // The log grows meanwhile.
  const text = (written: string) => written.replaceAll(/\d+/g, 'N');
  expect({ code, screen: text(screen) }).toEqual({
    code: 0,
    screen: expect.stringContaining(text(piped.stdout)) as string,
  });
});

it.each(['jobs timeline TOKEN', 'jobs list', 'accounts list', 'ledger show ACCOUNT', 'accounts usage ACCOUNT'])(
  'nothing of %s goes beyond 80 columns, or is left out',
  async (command) => {
    const words = wordsOf(command);
    const { code, screen } = await runOnTerminal(words, { REELTALLY_DATA: service.dataDirectory }, { columns: 80 });
    const piped = await run(...words);
    expect(code).toBe(0);
    expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    const seen = screen.replaceAll(/\s+/g, '');
    for (const cell of piped.stdout.split(/\n| {2,}/)) expect(seen).toContain(cell.replaceAll(/\s+/g, ''));
  },
);

it('a rebuild shows how far it has come', async () => {
  const words = ['projections', 'rebuild', 'overage_ledger'];
  const { code, screen } = await runOnTerminal(words, { REELTALLY_DATA: service.dataDirectory });
  expect({ code, screen }).toEqual({ code: 0, screen: expect.stringMatching(/\[#{30}\] 100 %/) as string });
});
