import { afterAll, beforeAll, expect } from 'vitest';
import { startService } from '../support/service.ts';
import type { Environment, Service } from '../support/service.ts';

/** For tests that need charges and no films: the worker finds too little room, and leaves every job queued. */
export const noDownloads: Environment = { MIN_FREE_DISK_MIB: '1000000000' };

/**
 * One running service for the tests of a file, on the Postgres of the run. At the end it has to stop in order, and its log
 * may hold no error that the tests did not provoke on purpose.
 *
 * @param expectedErrors texts of log lines that belong to what the file tests
 */
export function shareService(
  environment: Environment = {},
  expectedErrors: readonly string[] = [],
  { postgres = 'of the run' }: { postgres?: 'embedded' | 'of the run' } = {},
): () => Service {
  let service: Service | undefined;

  beforeAll(async () => {
    service = await startService(environment, { postgres });
  }, 60_000);

  afterAll(async () => {
    await using stopping = service;
    expect(await stopping?.stop()).toBe(0);
    expect(unexpectedLines(stopping?.log() ?? '', expectedErrors)).toEqual([]);
  }, 60_000);

  return () => {
    if (!service) throw new Error('the service has not started');
    return service;
  };
}

/** Errors (pino's levels 50 and 60), and whatever is no log line at all, such as the trace of an uncaught error. */
export function unexpectedLines(log: string, expectedErrors: readonly string[] = []): string[] {
  return log.split('\n').filter((line) => {
    if (line === '') return false;
    if (!line.startsWith('{')) return true;
    const { level, msg } = JSON.parse(line) as { level: number; msg?: string };
    return level >= 50 && !expectedErrors.includes(msg ?? '');
  });
}

/** The account and key that a demo start makes: plan enterprise, 500 requests an hour. */
export function demoOf({ demo }: Service): { accountId: string; key: string; keyId: string } {
  if (!demo) throw new Error('the service was not started in demo mode');
  return demo;
}
