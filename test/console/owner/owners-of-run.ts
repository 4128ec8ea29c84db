import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { shareService } from '../../http/shared-service.ts';
import { mailsTo as readMailsTo } from '../../support/mailed-links.ts';
import { connectClient } from '../../support/postgres.ts';
import type { Environment } from '../../support/service.ts';
import { type Owners, ownersOf } from './owners-of.ts';

/**
 * The owners' console of a service that other files use at the same time: a test judges only its own accounts and people.
 *
 * @param environment of `shareService`
 */
export function ownersOfRun(environment: Environment = {}): Owners {
  const service = shareService(environment);
  const owners: Partial<Owners> = { api: service };
  let client: pg.Client;
  beforeAll(async () => {
    const { dataDirectory, cli, sampleUrl, openAccount } = service;
    const read = (name: string) => readFileSync(join(dataDirectory, name), 'utf8');
    const { eventStoreUrl, databaseUrl } = JSON.parse(read('instance.json')) as Record<string, string>;
    client = await connectClient(databaseUrl ?? '');
    const installation = {
      environment: { EVENTSTORE_URL: eventStoreUrl ?? '', DATABASE_URL: databaseUrl ?? '' },
      cli: <Answer>(words: readonly string[]) => cli<Answer>(...words),
      sampleUrl,
      openAccount,
    };
    const mailsTo = (email: string) => readMailsTo(dataDirectory, email);
    const running = { installation, api: () => service, mailsTo, client, secret: read('secret').trim() };
    Object.assign(owners, { installation, mailsTo, ...ownersOf(running) } satisfies Partial<Owners>);
  });
  afterAll(() => client.end());
  return owners as Owners;
}
