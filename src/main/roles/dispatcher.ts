import { readCredits } from '../../../projections/credits.ts';
import { createJobQueue } from '../../adapters/job-queue.ts';
import { leadWhenAlone } from '../../adapters/leadership.ts';
import { observeFiles, observeJobs, observeMails, observeVoids } from '../../adapters/metrics-observers.ts';
import { createPendingVoids } from '../../adapters/pending-voids.ts';
import { createBooks } from '../../adapters/postgres.ts';
import { newUuid } from '../../adapters/system.ts';
import { UsageLanes } from '../../commands/usage-lanes.ts';
import { auditContinuously } from '../../dispatcher/audit-continuously.ts';
import type { AuditState } from '../../dispatcher/audit-continuously.ts';
import { startClosingPeriods } from '../../dispatcher/close-periods.ts';
import { dispatchDownloads } from '../../dispatcher/dispatch-downloads.ts';
import { startExpiringFiles } from '../../dispatcher/expire-files.ts';
import { startRemovingFiles } from '../../dispatcher/remove-files.ts';
import { startReturningServiceFailures } from '../../dispatcher/return-service-failures.ts';
import { startResolving } from '../../dispatcher/resolve-unknown-outcomes.ts';
import { startMailingWarnings } from '../../dispatcher/mail-warnings.ts';
import { startSweeping } from '../../dispatcher/sweep.ts';
import { createMailer } from '../connect.ts';
import { openFiles } from '../files.ts';
import { watchAudit, watchFiles, watchPendingVoids, watchPeriods, watchQueue, watchWarnings } from '../watch.ts';
import type { StartRole } from '../role.ts';

export const startDispatcher: StartRole = async (connections, secrets) => {
  const { store, pool, nats, logger, clock, config, addresses, metrics, tracer } = connections;
  const queue = createJobQueue(nats, tracer);
  const observer = metrics.observer(observeJobs);
  const voids = metrics.observer(observeVoids);
  const mailer = createMailer(config);
  const mailObserver = metrics.observer(observeMails);
  const { files } = await openFiles(connections, secrets);
  const retentionSeconds = config.FILE_RETENTION_SECONDS;
  const fileObserver = metrics.observer(observeFiles);
  const mailerId = newUuid();
  const takenMails = new Set<string>();
  let audited: AuditState | undefined;
  const dispatcher = leadWhenAlone('dispatcher', {
    url: addresses.databaseUrl,
    logger,
    lead: () => {
      const dispatching = dispatchDownloads({ store, queue, pool });
      const sweeping = startSweeping({
        ...{ store, queue, pool, logger, newUuid, now: clock.now },
        attemptTimeoutSeconds: config.ATTEMPT_TIMEOUT_SECONDS,
        maxJobsPerAccount: config.MAX_JOBS_PER_ACCOUNT,
        observer,
      });
      const resolving = startResolving({
        ...{ store, logger, newUuid, now: clock.now, observer, voids, tracer },
        pendingVoids: createPendingVoids(pool),
      });
      const closing = startClosingPeriods({
        ...{ store, pool, logger, newUuid, now: clock.now },
        lanes: new UsageLanes({ store, now: clock.now, newId: newUuid, tracer }),
        graceSeconds: config.CLOSING_GRACE_SECONDS,
      });
      const mailing = startMailingWarnings({
        ...{ store, pool, mailer, logger, newUuid, now: clock.now, mailerId },
        ...{ taken: takenMails, observer: mailObserver },
      });
      const expiring = startExpiringFiles({
        ...{ store, pool, logger, newUuid, now: clock.now, observer },
        retentionSeconds,
      });
      const removing = startRemovingFiles({
        ...{ pool, files, logger, now: clock.now, retentionSeconds, observer: fileObserver },
      });
      const returning = startReturningServiceFailures({
        ...{ store, pool, logger, newUuid, now: clock.now },
        readCredits: (stream) => readCredits(pool, stream),
      });
      const audit = auditContinuously({ log: store, books: createBooks(pool), logger });
      audited = audit.state;
      return async () => {
        const loops = [sweeping, resolving, closing, mailing, expiring, removing, returning, audit].map((loop) =>
          loop.stop(),
        );
        await Promise.all([dispatching.close(), ...loops]);
      };
    },
  });
  watchQueue(connections, queue, dispatcher);
  watchAudit(connections, () => (dispatcher.leading ? audited : undefined));
  watchPendingVoids(connections, dispatcher);
  watchPeriods(connections, dispatcher);
  watchWarnings(connections, dispatcher);
  watchFiles(connections, dispatcher);
  return dispatcher;
};
