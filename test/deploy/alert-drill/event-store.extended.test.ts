import { describe, it } from 'vitest';
import { browserOfFile } from '../../support/browser.ts';
import { clients, drillTimeoutMs, isDrill, watchedService } from './watched-service.ts';

describe.runIf(isDrill)('faults of the event store', () => {
  const browser = browserOfFile();
  const service = watchedService('event-store', { FILE_RETENTION_SECONDS: '120' });
  const { raises, queueMany } = service;

  it('raise their alerts', { timeout: drillTimeoutMs }, async () => {
    const { installation } = service;
    const now = ['UnknownOutcomeOpen', 'AppendOpen', 'ApiErrorsFastBurn', 'AuditBehind'];
    const later = ['ApiErrorsSlowBurn', 'FilesOverdue'];
    let end = () => Promise.resolve();
    const alerts = [['ServerAway', { server: 'event_store' }] as const, ...now, ...later];
    await raises('the event store stops answering', alerts, () => {
      installation.silenceEventStore();
      end = clients(4, () => queueMany(1, 'private'));
    }).finally(async () => {
      installation.wakeEventStore();
      await end();
    });
    await service.draw(browser);
  });
});
