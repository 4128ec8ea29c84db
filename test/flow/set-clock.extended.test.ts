import { expect, test } from 'vitest';
import { createApiClient } from '../../src/client/client.ts';
import { installationOfFile } from '../support/installation.ts';
import { jsonLines } from '../support/log-lines.ts';
import { readiness } from '../support/readiness.ts';
import type { ServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { settablePostgresClock } from './postgres-clock.ts';
import { wrongClock } from './wrong-clock.ts';

/** One machine for Postgres and all processes, whose clock is set while they work: no two clocks ever differ. */
const installation = installationOfFile();
const aheadSeconds = 40 * 86_400;

const hasPeriodEnded = async () =>
  (await installation.readLog('usage-')).some(({ type }) => type === 'UsagePeriodEnded');

/** What a process says of its clock. */
const clockLines = (process: ServiceProcess) =>
  jsonLines<{ msg: string; reason?: string }>(process.log()).filter(({ msg }) => msg.startsWith('the clock is'));

test('a clock that is set while processes work ends no period, until they are restarted', async () => {
  const clock = wrongClock(0);
  const setPostgres = await settablePostgresClock(installation.environment.DATABASE_URL);
  const set = async (seconds: number) => {
    clock.set(seconds);
    await setPostgres(seconds);
  };
  const start = (role: 'api' | 'projector' | 'dispatcher') => installation.startRole(role, clock.environment);
  const [api, dispatcher, projector] = await Promise.all([start('api'), start('dispatcher'), start('projector')]);
  const { key } = await installation.openAccount('enterprise');
  // The checks of the tests' own client compare headers with the clock of the tests.
  const client = createApiClient(api.url, key);
  const download = async () => {
    const body = { url: installation.sampleUrl('private') };
    const { response, error } = await client.POST('/video/download', { body });
    return [response.status, error?.error.code];
  };
  expect(await download()).toEqual([202, undefined]);

  await set(aheadSeconds);
  expect(await download()).toEqual([502, 'enqueue_failed']);
  expect((await client.GET('/credits')).response.status).toBe(503);
  expect(await readiness(api.url)).toMatchObject({
    httpStatus: 503,
    postgres: expect.stringMatching(
      /Postgres's time jumped 40 days ahead .* restart this process, which accepts it/,
    ) as string,
  });
  await waitFor(() => clockLines(dispatcher).length === 1, { what: 'a word of the dispatcher' });
  expect(await hasPeriodEnded()).toBe(false);

  await set(0);
  await waitFor(() => clockLines(dispatcher).length === 2, { what: 'the dispatcher to go on' });
  expect(await download()).toEqual([202, undefined]);
  expect(await hasPeriodEnded()).toBe(false);

  await set(aheadSeconds);
  await Promise.all([api.stop(), dispatcher.stop(), projector.stop()]);
  await Promise.all([start('dispatcher'), start('projector')]);
  await waitFor(hasPeriodEnded, { what: 'the end of the period' });
});
