import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { browserOfFile } from '../../support/browser.ts';
import { call } from '../../support/client.ts';
import { queue } from '../../support/downloads.ts';
import { deadUrl } from '../../support/event-store.ts';
import { createMigratedDatabase } from '../../support/postgres.ts';
import { waitFor } from '../../support/wait-for.ts';
import { switchableYtDlp } from './switchable-yt-dlp.ts';
import { allOf, clients, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

describe.runIf(isDrill)('faults of books, limits and processes', () => {
  const browser = browserOfFile();
  const ytDlp = switchableYtDlp();
  const service = watchedService('books', async () => ({
    SMTP_URL: (await deadUrl()).replace(/^esdb(.*)\?.*$/, 'smtp$1'),
    MAIL_FROM: 'billing@reeltally.test',
    ...ytDlp.environment(),
  }));
  const { raises, start, queueMany, connect: openDatabase } = service;
  const limitedTo = (openFiles: number) => (command: readonly string[]) => [
    ...['prlimit', `--nofile=${openFiles}:${openFiles}`, ...command],
  ];

  const query = async (text: string, values: unknown[]) => {
    const client = await openDatabase();
    await client.query(text, values);
    await client.end();
  };
  const forgeLedgerRow = async (accountId: string) => {
    const forged = `jsonb_build_object('event_id', gen_random_uuid(), 'revision', 1000, 'cents', 7)`;
    const from = 'from overage_ledger ledger where account_id = $1 limit 1';
    const row = `select (jsonb_populate_record(ledger, ${forged})).* ${from}`;
    await query(`insert into overage_ledger ${row}`, [accountId]);
  };
  const socketsTo = (to: string, count: number) => {
    const { hostname, port } = new URL(to);
    const open = () => connect({ host: hostname, port: Number(port) }).on('error', () => undefined);
    return Array.from({ length: count }, open);
  };

  async function startUnderLimits(): Promise<void> {
    const api2 = await start('api2', 'api', {}, limitedTo(300));
    await raises('more connections than open files allow', ['ConnectionsDropped'], async () => {
      const sockets = socketsTo(api2.url, 60);
      await waitFor(() => sockets.some(({ closed }) => closed), { what: 'a connection to be dropped' });
      for (const socket of sockets) socket.destroy();
    });
    await raises('a process restarts three times', ['Restarting'], async () => {
      for (let times = 0; times < 3; times += 1) {
        await service.running('api2').kill();
        await start('api2', 'api', {}, limitedTo(300));
      }
    });
  }

  async function runOutOfFiles(): Promise<void> {
    const { url } = await start('api3', 'api', {}, limitedTo(48));
    // Each connection for as long as the API lets it wait. One is left for Prometheus.
    const hold = async () => {
      const [socket] = socketsTo(url, 1);
      await waitFor(() => socket!.closed, {
        what: 'a connection to be closed',
        timeoutMs: drillTimeoutMs,
        pollMs: 500,
      });
    };
    await raises('a limit of open files that is too low', ['OpenFiles'], () => void clients(15, hold));
  }

  /** A process that gets the processor for a third of the time. */
  async function holdBack(): Promise<void> {
    const api4 = await start('api4', 'api');
    const end = clients(1, async () => {
      api4.pause();
      await sleep(700);
      api4.resume();
    });
    await raises('a process that gets too little of the processor', ['EventLoopLate']);
    await end();
  }

  it('raise their alerts', { timeout: drillTimeoutMs }, async () => {
    const { installation, url, account } = service;
    const other = await installation.openAccount();
    await queue(url, other.key, { url: installation.sampleUrl('private') });
    await using database = await createMigratedDatabase();
    ytDlp.does('exec /bin/sleep 3600');
    await allOf([
      raises('more downloads than slots', ['WorkersFull'], () => queueMany(10, 'slow')),
      raises('no mail server', [['MailsWait', { about: 'document' }]]),
      raises('a row is added to the ledger by hand', ['BooksDiverge'], () => forgeLedgerRow(other.accountId)),
      raises('a balance is forged in Postgres', [['RowsNotBelieved', { table: 'credits' }]], async () => {
        await query('update credits set downloads = 1000 where account_id = $1', [other.accountId]);
        await call(url, '/credits', { key: other.key });
      }),
      raises('a row says that an invoice is due, and the log has it', ['InvoicesDue'], () =>
        query('update credits set opening_invoice_due = true where account_id = $1', [account.accountId]),
      ),
      raises('two projectors on two databases', ['TwoLeaders'], () =>
        start('projector2', 'projector', { DATABASE_URL: database.url }),
      ),
      startUnderLimits(),
      runOutOfFiles(),
      holdBack(),
    ]);
    await service.draw(browser);
    await service.running('projector2').stop();
  });
});
