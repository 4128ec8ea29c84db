import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type Installation, installationOfFile } from '../../support/installation.ts';
import { startMailServer, type TestMailServer } from '../../support/mail-server.ts';
import { connectClient } from '../../support/postgres.ts';
import type { Environment, ServiceProcess } from '../../support/service.ts';
import { type Owners, ownersOf } from './owners-of.ts';

/** The engines, a projector and an API with the console, for the tests of one file. */
export interface ConsoleOfFile extends Owners {
  installation: Installation;
  mails: TestMailServer;
  api: ServiceProcess;
  projector: ServiceProcess;
}

export async function consoleOfFile(given: Environment = {}): Promise<ConsoleOfFile> {
  const mails = await startMailServer();
  const installation = installationOfFile({
    SMTP_URL: mails.url,
    MAIL_FROM: 'service@example.com',
    TRUSTED_PROXIES: '127.0.0.1',
    ...given,
  });
  const mailsTo = (email: string) =>
    Promise.resolve(mails.taken.flatMap(({ to, raw }) => (to === email.toLowerCase() ? [raw] : [])));
  const console = { installation, mails, mailsTo } as ConsoleOfFile;
  let client: pg.Client;
  beforeAll(async () => {
    const { environment, startRole } = installation;
    client = await connectClient(environment.DATABASE_URL);
    const secret = environment.REELTALLY_SECRET;
    Object.assign(console, {
      projector: await startRole('projector'),
      api: await startRole('api'),
      ...ownersOf({ installation, api: () => console.api, mailsTo, client, secret }),
    } satisfies Partial<ConsoleOfFile>);
  });
  afterAll(async () => {
    await client.end();
    await mails.close();
  });
  return console;
}
