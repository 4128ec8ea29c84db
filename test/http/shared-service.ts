import { afterAll, beforeAll, expect } from 'vitest';
import { unexpectedLines } from '../support/log-lines.ts';
import { askFor } from '../support/offers-of-run.ts';
import {
  type Environment,
  inUse,
  type Running,
  type Service,
  type ServiceInUse,
  startService,
} from '../support/service.ts';

/** For tests that need charges and no films: the worker finds too little room, and leaves every job queued. */
export const noDownloads: Environment = { MIN_FREE_DISK_MIB: '1000000000' };

/** 127.0.0.1 is where tests come from; 127.0.0.8, from where only those come that look at the window of an address. */
const trusted: Environment = { TRUSTED_PROXIES: '127.0.0.1,127.0.0.8' };

/** A service that other test files use at the same time, with an account of this file's own in place of the demo's. */
export function shareService(environment: Environment = {}): ServiceInUse {
  const service: Partial<ServiceInUse> = {};
  beforeAll(async () => {
    const used = inUse(await askFor<Running>('service', { ...trusted, ...environment }));
    Object.assign(service, used, { demo: await used.openAccount('enterprise') });
  });
  return service as ServiceInUse;
}

/**
 * One running service for the tests of a file alone, on the Postgres of the run. At the end it has to stop in order, and its log
 * may hold no error that the tests did not provoke on purpose.
 *
 * @param expectedErrors texts of log lines that belong to what the file tests
 */
export function ownService(
  environment: Environment = {},
  expectedErrors: readonly string[] = [],
  { postgres = 'of the run' }: { postgres?: 'embedded' | 'of the run' } = {},
): Service {
  const service: Partial<Service> = {};
  beforeAll(async () => {
    Object.assign(service, await startService(environment, { postgres }));
  });
  afterAll(async () => {
    await using stopping = service as Service;
    expect(await stopping.stop()).toBe(0);
    expect(unexpectedLines(stopping.log(), expectedErrors)).toEqual([]);
  });
  return service as Service;
}

/** The account and key that a demo start makes: plan enterprise, 500 requests an hour. */
export function demoOf({ demo }: Pick<Service, 'demo'>): { accountId: string; key: string; keyId: string } {
  if (!demo) throw new Error('the service was not started in demo mode');
  return demo;
}
