import { readCredits } from '../../../projections/credits.ts';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { readHeadFor } from '../../../projections/proofs.ts';
import { writeAuditState } from '../../../projections/queries/audit-state.ts';
import { createJobQueue } from '../../adapters/nats/job-queue.ts';
import { createErasures } from '../../adapters/postgres/erasures.ts';
import { leadWhenAlone } from '../../adapters/postgres/leadership.ts';
import { countOfOtherSecrets, wrapWithCurrentSecret } from '../../adapters/postgres/personal-keys.ts';
import { createReadModelQueries } from '../../adapters/postgres/read-model-queries.ts';
import { observeFiles, observeJobs, observeMails, observeVoids } from '../../adapters/telemetry/observers.ts';
import { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import { auditContinuously, type AuditState } from '../../dispatcher/audit-continuously.ts';
import { startCarryingOutCorrections } from '../../dispatcher/carry-out-corrections.ts';
import { startClosingPeriods } from '../../dispatcher/close-periods.ts';
import { dispatchDownloads } from '../../dispatcher/dispatch-downloads.ts';
import { startErasing } from '../../dispatcher/erase-personal-data.ts';
import { startExpiringFiles } from '../../dispatcher/expire-files.ts';
import { startRemovingFiles } from '../../dispatcher/remove-files.ts';
import { startResolving } from '../../dispatcher/resolve-unknown-outcomes.ts';
import { startReturningServiceFailures } from '../../dispatcher/return-service-failures.ts';
import { startMailingDocuments } from '../../dispatcher/send-document-mails.ts';
import { startMailingWarnings } from '../../dispatcher/send-warning-mails.ts';
import { type SigningState, startSigningTreeHeads } from '../../dispatcher/sign-tree-heads.ts';
import { startSweeping } from '../../dispatcher/sweep-lost-jobs.ts';
import { startWrappingKeys } from '../../dispatcher/wrap-personal-keys.ts';
import { newUuid } from '../../system/clock-and-chance.ts';
import { openFiles } from '../file-store.ts';
import { watchAudit, watchDispatcher, watchPersonalKeys, watchSigning } from '../gauges.ts';
import { createMailer } from '../mailer.ts';
import { readProofSigning } from '../settings/proof-signing.ts';
import type { StartRole } from './role.ts';

export const startDispatcher: StartRole = async (connections, secrets) => {
  const { store, pool, nats, logger, config, metrics, tracer, macs } = connections;
  const queue = createJobQueue(nats, { replicas: config.NATS_REPLICAS, logger, tracer });
  const observer = metrics.observer(observeJobs);
  const voids = metrics.observer(observeVoids);
  const mailer = createMailer(config);
  const mailObserver = metrics.observer(observeMails);
  const { files } = await openFiles(connections, secrets);
  const retentionSeconds = config.FILE_RETENTION_SECONDS;
  const fileObserver = metrics.observer(observeFiles);
  const publicUrl = () => connections.publicUrl;
  const mailerId = newUuid();
  const takenMails = new Set<string>();
  /** Dependencies of nearly every loop. */
  const parts = { ...connections, newUuid };
  const signing = readProofSigning(config);
  let audited: AuditState | undefined;
  let signed: SigningState | undefined;
  const dispatcher = leadWhenAlone('dispatcher', {
    ...connections,
    url: connections.addresses.databaseUrl,
    lead: () => {
      const dispatching = dispatchDownloads({ ...parts, queue });
      const audit = auditContinuously({
        ...parts,
        log: store,
        queries: createReadModelQueries(pool),
        record: (said) => writeAuditState(pool, said),
      });
      audited = audit.state;
      const mails = { ...parts, mailer, mailerId, taken: takenMails, observer: mailObserver };
      const heads = signing && startSigningTreeHeads({ ...parts, ...signing, files });
      signed = heads?.state;
      const loops = [
        startSweeping({
          ...parts,
          queue,
          attemptTimeoutSeconds: config.ATTEMPT_TIMEOUT_SECONDS,
          maxJobsPerAccount: config.MAX_JOBS_PER_ACCOUNT,
          observer,
        }),
        startResolving({ ...parts, observer, voids }),
        startClosingPeriods({
          ...parts,
          writers: new WriterRegistry({ ...parts, newId: newUuid, rows: macs }),
          graceSeconds: config.CLOSING_GRACE_SECONDS,
        }),
        startMailingWarnings({ ...mails, publicUrl, planNames: config.planNames }),
        startMailingDocuments({
          ...mails,
          issuer: config.INVOICE_ISSUER,
          publicUrl,
          readNote:
            signing &&
            (async (eventId) => {
              const head = await readHeadFor(pool, eventId);
              return head?.covers ? head.note : undefined;
            }),
        }),
        startExpiringFiles({ ...parts, observer, retentionSeconds }),
        startRemovingFiles({ ...parts, files, retentionSeconds, observer: fileObserver }),
        startReturningServiceFailures({
          ...parts,
          readCredits: async (stream) => {
            const row = await readCredits(pool, stream, macs);
            return row === notBelieved ? undefined : row;
          },
        }),
        startCarryingOutCorrections(parts),
        startErasing({
          ...parts,
          files,
          erasures: createErasures(pool),
          documentRetentionYears: config.DOCUMENT_RETENTION_YEARS,
        }),
        audit,
        ...(secrets.others.length > 0
          ? [startWrappingKeys({ ...parts, wrapWithCurrentSecret: () => wrapWithCurrentSecret(pool, secrets) })]
          : []),
        ...(heads ? [heads] : []),
      ];
      return async () => {
        await Promise.all([dispatching.close(), ...loops.map((loop) => loop.stop())]);
      };
    },
  });
  watchDispatcher(connections, queue, dispatcher);
  watchPersonalKeys(connections, dispatcher, () => countOfOtherSecrets(pool, secrets));
  watchAudit(connections, () => (dispatcher.leading ? audited : undefined));
  watchSigning(connections, () => (dispatcher.leading ? signed : undefined));
  connections.waiting.set('proofs', async () =>
    signing === undefined
      ? 'are not signed: PROOF_SIGNING_KEY is not set'
      : signed?.refused && `are not signed: ${signed.refused}`,
  );
  return dispatcher;
};
