import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { isLongProof } from '../support/proof-scale.ts';
import { readiness } from '../support/readiness.ts';
import { runCommand, type ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { wrongClock } from './wrong-clock.ts';

/** Machines whose own clock is wrong, and one whose clock is set while it works; Postgres's is right throughout. */
const installation = installationOfFile();

beforeAll(() => installation.startRole('projector'));

const daySeconds = 86_400;
const everyShift = [5 * 3_600, -5 * 3_600, 32 * daySeconds, -32 * daySeconds];
/** Ahead by more than a period, and behind within one. */
const wrongBySeconds = isLongProof ? everyShift : [-5 * 3_600, 32 * daySeconds];

const download = ({ url }: ServiceProcess, key: string, headers = {}) =>
  call(url, '/video/download', { key, headers, body: { url: installation.sampleUrl('private') } });

/** What a process says of its clock, each time that it does. */
const linesOf = (process: ServiceProcess) =>
  jsonLines<{ level: number; msg: string }>(process.log())
    .filter(({ level, msg }) => level >= 40 && !/^yt-dlp is \d+ days old/.test(msg))
    .map(({ msg }) => msg);

describe('an API process', () => {
  test.each(wrongBySeconds)('that is wrong by %i s from the start decides nothing', async (seconds) => {
    const { key } = await installation.openAccount('enterprise');
    const before = (await installation.readLog()).length;
    const api = await installation.startRole('api', wrongClock(seconds).environment);
    expect(await download(api, key)).toMatchObject({ status: 502, code: 'enqueue_failed' });
    for (const path of ['/credits', `/video/metadata?url=${encodeURIComponent(installation.sampleUrl('private'))}`])
      expect(await call(api.url, path, { key })).toMatchObject({ status: 503, code: 'unavailable' });
    expect(await call(api.url, '/auth/key', { key, method: 'POST' })).toMatchObject({ status: 503 });
    expect(await readiness(api.url)).toMatchObject({
      httpStatus: 503,
      postgres: expect.stringContaining(`differ by ${String(seconds)} s`) as string,
    });
    await api.stop();
    expect(await installation.readLog()).toHaveLength(before);
  });

  test('whose clock is set while it works refuses until it is right again, and ends no period', async () => {
    const { accountId, key } = await installation.openAccount('enterprise');
    const clock = wrongClock(0);
    const api = await installation.startRole('api', clock.environment);
    for (const seconds of wrongBySeconds) {
      const sameAgain = () => download(api, key, { 'Idempotency-Key': `clock-${String(seconds)}` });
      const first = await sameAgain();
      expect(first).toMatchObject({ status: 202 });
      clock.set(seconds);
      await waitFor(async () => (await download(api, key)).status === 502, { what: 'a refusal' });
      expect(await download(api, key)).toMatchObject({ code: 'enqueue_failed' });
      // "Not queued" would not be true of a key that has a download.
      expect(await sameAgain()).toMatchObject({ status: 503, code: 'unavailable' });
      clock.set(0);
      await waitFor(async () => (await download(api, key)).status === 202, { what: 'the clock to be right again' });
      expect((await sameAgain()).data).toEqual(first.data);
    }
    await api.stop();
    const usage = await installation.readLog(`usage-${accountId}-`);
    expect(new Set(usage.map(({ stream }) => stream)).size).toBe(1);
    expect(usage.some(({ type }) => type === 'UsagePeriodEnded')).toBe(false);
    const times = usage.map(({ metadata }) => (metadata as { time: string }).time);
    expect(times).toEqual(times.toSorted());
    expect(Math.abs(Date.parse(times.at(-1) ?? '') - Date.now())).toBeLessThan(60_000);
  });
});

test.each(wrongBySeconds)('no command on a machine that is wrong by %i s changes anything', async (seconds) => {
  const { accountId } = await installation.openAccount('enterprise');
  const before = (await installation.readLog()).length;
  const environment = { ...installation.environment, ...wrongClock(seconds).environment };
  for (const words of [
    ['accounts', 'open', '--email', 'a@example.com', '--plan', 'enterprise'],
    ['accounts', 'cap', accountId, '100'],
    ['keys', 'issue', accountId, '--label', 'x'],
    ['invoices', 'issue-due'],
  ]) {
    const { code, stderr } = await runCommand(words, environment);
    expect(stderr).toMatch(new RegExp(`^reeltally: .*differ by ${String(seconds)} s; set them right\\n$`));
    expect(code).toBe(1);
  }
  expect(await installation.readLog()).toHaveLength(before);
});

test('dispatcher and worker do nothing while they are wrong, say so once, and go on once they are right', async () => {
  const { accountId, key } = await installation.openAccount('enterprise');
  const api = await installation.startRole('api');
  const clock = wrongClock(32 * daySeconds);
  const [dispatcher, worker] = await Promise.all([
    installation.startRole('dispatcher', clock.environment),
    installation.startRole('worker', clock.environment),
  ]);
  const wrong = [dispatcher, worker];
  for (const process of wrong)
    await waitFor(() => linesOf(process).includes('the clock is wrong'), { what: 'a word about the clock' });
  const queued = await download(api, key);
  expect(queued.status).toBe(202);
  expect(await installation.readLog('job-')).toEqual([]);
  clock.set(0);
  const token = queued.data['request_token'] as string;
  await waitFor(async () => (await installation.readLog(`job-${token}`)).some(({ type }) => type === 'JobClaimed'), {
    what: 'the job to be claimed',
  });
  // Each looks at its clock by itself: the other one may find it right a moment later.
  for (const process of wrong) {
    await waitFor(() => linesOf(process).includes('the clock is right again'), {
      what: 'a word about the right clock',
    });
    expect(linesOf(process)).toEqual(['the clock is wrong', 'the clock is right again']);
  }
  const usage = await installation.readLog(`usage-${accountId}-`);
  expect(new Set(usage.map(({ stream }) => stream)).size).toBe(1);
});
