import { hash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { pino } from 'pino';
import { deriveKeys, type Secrets } from '../../../src/adapters/derive-keys.ts';
import { createRowMacs } from '../../../src/adapters/postgres/row-macs.ts';
import type { RowMacs } from '../../../src/ports/row-macs.ts';
import type { Installation } from '../../support/installation.ts';
import type { ServiceProcess } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Browser } from '../browser.ts';
import { type Mailbox, signIn } from '../sign-in.ts';

interface Person {
  accountId: string;
  personId: string;
}

/** The part of an installation that tests of a console need, whether it is theirs alone or not. */
interface InstallationInUse extends Pick<Installation, 'sampleUrl' | 'cli'> {
  environment: Pick<Installation['environment'], 'EVENTSTORE_URL' | 'DATABASE_URL'>;
  openAccount: (plan: string) => ReturnType<Installation['openAccount']>;
}

/** The owners' console of a running service, as its tests use it. */
export interface Owners extends Mailbox {
  installation: InstallationInUse;
  api: Pick<ServiceProcess, 'url' | 'staffUrl'>;
  /** Those of the service's secret, to change rows as nobody else can. */
  macs: RowMacs;
  secrets: Secrets;
  sql: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** An account whose people can sign in. */
  openAccount: (email: string, plan?: string) => Promise<string>;
  /** A new browser of a person that is signed in: by a mail, or by a row in the place of one, which no limit counts. */
  signedIn: (email: string) => Promise<Browser>;
  newSession: (person: Person, startedSecondsAgo?: number) => Promise<Browser>;
}

interface Running extends Mailbox {
  installation: InstallationInUse;
  api: () => Owners['api'];
  /** To its database. */
  client: pg.Client;
  secret: string;
}

/** The means by which tests use the owners' console of a running service. */
export function ownersOf({
  installation,
  api,
  mailsTo,
  client,
  secret,
}: Running): Pick<Owners, 'macs' | 'secrets' | 'sql' | 'openAccount' | 'signedIn' | 'newSession'> {
  const secrets = { current: deriveKeys(secret), others: [] };
  const macs = createRowMacs(secrets, { logger: pino({ level: 'silent' }) });
  const sql: Owners['sql'] = async <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows;
  return {
    macs,
    secrets,
    sql,
    openAccount: async (email, plan = 'enterprise') => {
      const { account_id: accountId } = await installation.cli<{ account_id: string }>([
        ...['accounts', 'open', '--email', email, '--plan', plan],
      ]);
      await waitFor(async () => (await sql('select from people where account_id = $1', [accountId])).length === 1, {
        what: 'the person of a new account',
      });
      return accountId;
    },
    signedIn: (email) => signIn(new Browser(api().url), email, { mailsTo }),
    newSession: async ({ accountId, personId }, startedSecondsAgo = 0) => {
      const cookie = `secret-${randomUUID()}`;
      const secretHash = hash('sha256', cookie, 'buffer');
      const startedAt = new Date(Date.now() - startedSecondsAgo * 1_000);
      const text = JSON.stringify([secretHash.toString('hex'), accountId, personId, startedAt.toISOString()]);
      await sql('insert into console_sessions values ($1, $2, $3, $4, $5, $6, clock_timestamp(), $7)', [
        ...[secretHash, `ses_${cookie}`, accountId, personId, 'a test', startedAt],
        macs.sign('console_sessions', text),
      ]);
      const browser = new Browser(api().url);
      browser.cookies.set('reeltally_session', cookie);
      browser.formToken = hash('sha256', `form ${cookie}`, 'base64url');
      return browser;
    },
  };
}
