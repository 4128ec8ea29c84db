import { describe, it } from 'vitest';
import { browserOfFile } from '../../support/browser.ts';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { clients, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

describe.runIf(isDrill)('faults of the event store', () => {
  const browser = browserOfFile();
  const service = watchedService('event-store', { FILE_RETENTION_SECONDS: '120' });
  const { raises, running, queueMany } = service;

  /** The first fee of a new account is due with its first request, and the dispatcher has not looked yet. */
  async function openAccountUnderPausedDispatcher(): Promise<void> {
    const { installation, url } = service;
    running('dispatcher').pause();
    const { accountId, key } = await installation.openAccount();
    await queue(url, key, { url: installation.sampleUrl('private') });
    const database = await service.connect();
    const due = 'select from credits where account_id = $1 and opening_invoice_due';
    const isDue = async () => (await database.query(due, [accountId])).rowCount === 1;
    await waitFor(isDue, { what: 'an invoice to be due' });
    await database.end();
  }

  it('raise their alerts', { timeout: drillTimeoutMs }, async () => {
    const { installation } = service;
    const now = ['UnknownOutcomeOpen', 'AppendOpen', 'ApiErrorsFastBurn', 'AuditBehind'];
    const later = ['ApiErrorsSlowBurn', 'FilesOverdue', 'InvoicesDue'];
    let end = () => Promise.resolve();
    const alerts = [['ServerAway', { server: 'event_store' }] as const, ...now, ...later];
    await raises('the event store stops answering', alerts, async () => {
      await openAccountUnderPausedDispatcher();
      installation.silenceEventStore();
      running('dispatcher').resume();
      end = clients(4, () => queueMany(1, 'private'));
    }).finally(async () => {
      installation.wakeEventStore();
      await end();
    });
    await service.draw(browser);
  });
});
