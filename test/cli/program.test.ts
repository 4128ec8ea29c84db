import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { expectRefusal, expectText, within } from './command-line.ts';

/** conventions.test.ts has processes of their own, and serve-refusals.extended.test.ts `serve`. */
const directory = temporaryDirectoryOfFile();
const run = within({ REELTALLY_DATA: join(directory, 'empty') });

const account = 'acc_aaaaaaaaaaaaaaaaaaaa';

const commands = [
  ...['open', 'show', 'usage', 'plan', 'terms', 'cap'].map((name) => `accounts ${name}`),
  ...['issue', 'list', 'revoke'].map((name) => `keys ${name}`),
  ...['show', 'export', 'waive'].map((name) => `ledger ${name}`),
  ...['show', 'timeline'].map((name) => `jobs ${name}`),
  ...['status', 'rebuild'].map((name) => `projections ${name}`),
];

describe('--help', () => {
  it.concurrent.each([
    ['', /accounts[^]*keys[^]*jobs[^]*ledger[^]*projections/],
    ['serve', /--role <role>[^]*"api", "projector", "dispatcher",\s+"worker", "all"/],
    ['accounts', /open[^]*show[^]*usage[^]*plan[^]*terms[^]*cap/],
    ['keys', /issue[^]*list[^]*revoke/],
    ['jobs', /show[^]*timeline/],
    ['ledger', /show[^]*export[^]*waive/],
    ['projections', /status[^]*rebuild/],
    ['ledger show', /--period <day>/],
    [
      'projections rebuild',
      /usage_and_jobs[^]*api_keys[^]*overage_ledger[^]*job_timeline[^]*invoices[^]*document_mails[^]*people[^]*usage_days[^]*period_money[^]*corrections[^]*staff[^]*all[^]*--from-/,
    ],
    ...commands.map((command): [string, RegExp] => [command, /--json/]),
  ])('%s', async (command, text) => {
    const ran = await run(...command.split(' ').filter(Boolean), '--help');
    expectText(ran, text);
    expectText(ran, new RegExp(`^Usage: ${`reeltally ${command}`.trim()} `));
  });
});

describe('what the command line does not know', () => {
  it.concurrent.each([
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['accounts', 'frobnicate'], /unknown command 'frobnicate'/],
    [['accounts', 'show', account, '--colour'], /unknown option '--colour'/],
    [['--colour'], /unknown option '--colour'/],
    [['serve', '--role', 'nobody'], /argument 'nobody' is invalid\. Allowed choices are api, projector, dispatcher/],
    [['serve', 'api'], /too many arguments/],
    [['ledger', 'show', account, '--period', '2026-02-30'], /write a day like 2026-11-21/],
    [['ledger', 'show', 'nobody'], /an account id is acc_ and 16 to 32 lower-case letters and digits/],
    [
      ['projections', 'rebuild', 'credits'],
      /Allowed choices are usage_and_jobs, api_keys, overage_ledger, job_timeline, invoices, document_mails, people, usage_days, period_money, corrections, staff, proofs, all/,
    ],
    [[], /^Usage: reeltally /],
    [['keys'], /^Usage: reeltally keys /],
  ])('%j', async (words, message) => {
    expectRefusal(await run(...words), message);
  });
});

describe('without a running instance', () => {
  it.concurrent.each([
    ['accounts', 'open', '--email', 'a@example.com', '--plan', 'sandbox'],
    ['accounts', 'show', account],
    ['accounts', 'plan', account, 'sandbox'],
    ['accounts', 'cap', account, '0'],
    ['keys', 'issue', account],
    ['keys', 'list', account],
    ['keys', 'revoke', 'key_aaaaaaaaaaaaaaaaaaaa'],
    ['jobs', 'show', 'token'],
    ['jobs', 'timeline', 'token'],
    ['accounts', 'terms', account, '--hourly', '5'],
    ['accounts', 'usage', account],
    ['ledger', 'show', account],
    ['ledger', 'export', '--account', account, '--period', '2026-11-21'],
    ['ledger', 'waive', 'token', '--reason', 'why', '--reference', 'case-1', '--by', 'Ada'],
    ['projections', 'status'],
    ['projections', 'rebuild', 'job_timeline'],
  ])('%s %s says so', async (...words) => {
    expectRefusal(await run(...words), /^reeltally: No instance runs on \S+\. Start one with "npm start", /);
  });

  it('what a killed one has left behind is not taken for one', async () => {
    const data = join(directory, 'left-behind');
    mkdirSync(data);
    const url = 'http://127.0.0.1:1';
    const addresses = { eventStoreUrl: url, databaseUrl: url, natsUrl: url, samplePlatformUrl: null, publicUrl: url };
    // Beyond the highest number that Linux gives to a process.
    writeFileSync(join(data, 'instance.json'), JSON.stringify({ pid: 2 ** 22 + 1, ...addresses }));
    const ran = await within({ REELTALLY_DATA: data })('accounts', 'show', account);
    expectRefusal(ran, /No instance runs on /);
    expect(ran.stderr.trim().split('\n')).toHaveLength(1);
  });
});
