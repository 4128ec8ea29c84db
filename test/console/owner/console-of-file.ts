import { hash } from 'node:crypto';
import type pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll } from 'vitest';
import { deriveKeys } from '../../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../../src/adapters/postgres/row-macs.ts';
import type { RowMacs } from '../../../src/ports/row-macs.ts';
import { type Installation, installationOfFile } from '../../support/installation.ts';
import { startMailServer, type TestMailServer } from '../../support/mail-server.ts';
import { connectClient } from '../../support/postgres.ts';
import type { Environment, ServiceProcess } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser } from '../browser.ts';
import { signIn } from '../sign-in.ts';

interface Person {
  accountId: string;
  personId: string;
}

/** The engines, a projector and an API with the console, for the tests of one file. */
export interface ConsoleOfFile {
  installation: Installation;
  mails: TestMailServer;
  api: ServiceProcess;
  projector: ServiceProcess;
  /** Those of the service's secret, to change rows as nobody else can. */
  macs: RowMacs;
  sql: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** An account whose people can sign in. */
  openAccount: (email: string, plan?: string) => Promise<string>;
  /** A new browser of a person that is signed in: by a mail, or by a row in the place of one, which no limit counts. */
  signedIn: (email: string) => Promise<Browser>;
  newSession: (person: Person, startedSecondsAgo?: number) => Promise<Browser>;
}

export async function consoleOfFile(given: Environment = {}): Promise<ConsoleOfFile> {
  const mails = await startMailServer();
  const installation = installationOfFile({
    SMTP_URL: mails.url,
    MAIL_FROM: 'service@example.com',
    TRUSTED_PROXIES: '127.0.0.1',
    ...given,
  });
  const console: ConsoleOfFile = { installation, mails } as ConsoleOfFile;
  let client: pg.Client;
  let sessions = 0;
  beforeAll(async () => {
    const { environment, startRole, cli } = installation;
    client = await connectClient(environment.DATABASE_URL);
    const sql: ConsoleOfFile['sql'] = async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
      (await client.query<Row>(text, values)).rows;
    const current = deriveKeys(environment['REELTALLY_SECRET'] ?? '');
    Object.assign(console, {
      projector: await startRole('projector'),
      api: await startRole('api'),
      macs: createRowMacs({ current, others: [] }, { logger: pino({ level: 'silent' }) }),
      sql,
      openAccount: async (email, plan = 'enterprise') => {
        const { account_id: accountId } = await cli<{ account_id: string }>([
          ...['accounts', 'open', '--email', email, '--plan', plan],
        ]);
        await waitFor(async () => (await sql('select from people where account_id = $1', [accountId])).length === 1, {
          what: 'the person of a new account',
        });
        return accountId;
      },
      signedIn: (email) => signIn(new Browser(console.api.url), email, mails),
      newSession: async ({ accountId, personId }, startedSecondsAgo = 0) => {
        const secret = `secret-${String((sessions += 1))}`;
        const secretHash = hash('sha256', secret, 'buffer');
        const startedAt = new Date(Date.now() - startedSecondsAgo * 1_000);
        const text = JSON.stringify([secretHash.toString('hex'), accountId, personId, startedAt.toISOString()]);
        await sql('insert into console_sessions values ($1, $2, $3, $4, $5, $6, clock_timestamp(), $7)', [
          ...[secretHash, `ses_${secret}`, accountId, personId, 'a test', startedAt],
          console.macs.sign('console_sessions', text),
        ]);
        const browser = new Browser(console.api.url);
        browser.cookies.set('reeltally_session', secret);
        browser.formToken = hash('sha256', `form ${secret}`, 'base64url');
        return browser;
      },
    } satisfies Partial<ConsoleOfFile>);
  });
  afterAll(async () => {
    await client.end();
    await mails.close();
  });
  return console;
}
