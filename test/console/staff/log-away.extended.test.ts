import { afterAll, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import { addPeriods } from './made-up-periods.ts';
import { staffOfFile } from './staff-of-file.ts';

const service = await staffOfFile();
const { installation } = service;

afterAll(() => installation.wakeEventStore());

it('while the log is silent, pages about books show what Postgres has, and what is not known', async () => {
  await addPeriods((...given) => service.sql(...given), '2020-03', 3);
  const browser = await service.signedInAs('finance');
  const textOf = async (path: string) => {
    const { status, text } = await browser.get(path);
    return [status, text.replaceAll(/\s+/g, ' ')];
  };
  expect((await browser.get('/staff/operation')).status).toBe(200);
  installation.silenceEventStore();
  expect(await textOf('/staff/months/2020-03')).toEqual([
    200,
    expect.stringMatching(/\$58\.50.*The log does not answer: whether it has newer events about money is not known\./),
  ]);
  expect(await textOf('/staff/operation')).toEqual([
    200,
    expect.stringMatching(/The log does not answer: how far read models are behind.*period_money.*not known/),
  ]);
  for (const path of ['/staff', '/staff/overage', '/staff/months', '/staff/operation/work'])
    expect([path, (await browser.get(path)).status]).toEqual([path, 200]);
  installation.wakeEventStore();
  await waitFor(async () => !String((await textOf('/staff/operation'))[1]).includes('does not answer'), {
    what: 'the log',
  });
});
