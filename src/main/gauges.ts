import { projections } from '../../projections/all.ts';
import { countDue } from '../../projections/due-periods.ts';
import { oldestOverdueSeconds } from '../../projections/kept-files.ts';
import { measureLag } from '../../projections/runner/progress.ts';
import { oldestWaitingSeconds } from '../../projections/unfinished-jobs.ts';
import { measureWaitingWarnings } from '../../projections/usage-warnings.ts';
import { diskFreeBytes } from '../system/disk.ts';
import type { ConnectedEventStore } from '../adapters/event-store/event-store.ts';
import type { Leadership } from '../adapters/postgres/leadership.ts';
import type { createJobQueue } from '../adapters/nats/job-queue.ts';
import { observeProjections } from '../adapters/telemetry/observers.ts';
import { measurePendingVoids } from '../adapters/postgres/pending-voids.ts';
import type { Metrics } from '../adapters/telemetry/metrics.ts';
import type { ProjectionObserver } from '../ports/observers.ts';
import type { AuditState } from '../dispatcher/audit-continuously.ts';
import type { IdleReaders } from '../http/files/idle-readers.ts';
import type { WaitingPolls } from '../http/waiting-polls.ts';
import { plusSeconds } from '../domain/instant.ts';
import type { Connections } from './connect.ts';

/** The gauges that are asked for at a scrape, each by the role that it belongs to. */

export function watchAppends(metrics: Metrics, store: ConnectedEventStore): void {
  metrics.collect(
    'appends',
    {
      reeltally_appends_open: { help: 'Appends whose outcome is not known yet' },
      reeltally_oldest_open_append_seconds: { help: 'Age of the oldest append without a known outcome' },
    },
    () => {
      const { count, oldestSeconds } = store.openAppends();
      return [
        { name: 'reeltally_appends_open', value: count },
        { name: 'reeltally_oldest_open_append_seconds', value: oldestSeconds },
      ];
    },
  );
}

export function watchReaders(metrics: Metrics, readers: IdleReaders): void {
  metrics.collect('readers', { reeltally_file_connections: { help: 'Connections that carry a file now' } }, () => [
    { name: 'reeltally_file_connections', value: readers.count },
  ]);
}

export function watchWaitingPolls(metrics: Metrics, waitingPolls: WaitingPolls): void {
  metrics.collect('waiting', { reeltally_waiting_polls: { help: 'Status polls that wait for a change' } }, () => [
    { name: 'reeltally_waiting_polls', value: waitingPolls.count },
  ]);
}

/** Several processes may have the role: the gauges of what they share are told by the one that leads. */
function whileLeading<Value>(leadership: () => Leadership, read: () => Promise<Value[]>): () => Promise<Value[]> {
  return async () => (leadership().leading ? await read() : []);
}

export interface WatchedProjections extends ProjectionObserver {
  /** Told when this process begins to lead: a read model's silence counts from then on. */
  begin(): void;
}

/** @param leadership of the projector */
export function watchProjections(connections: Connections, leadership: () => Leadership): WatchedProjections {
  const { metrics } = connections;
  const names = projections.map(({ name }) => name);
  const counted = observeProjections([metrics.registry], names);
  const lastBatchMs = new Map<string, number>();
  // Apart from the lag: an alarm must not be missing because the log or Postgres does not answer.
  metrics.collect(
    'projector',
    {
      reeltally_projector_leading: { help: 'Whether this process is the leading projector' },
      reeltally_projection_idle_seconds: {
        help: 'Time since the last batch was applied to a read model, or since this process began to lead',
        label: 'projection',
      },
    },
    () => {
      const { leading } = leadership();
      const idle = names.map((of) => {
        const value = (performance.now() - (lastBatchMs.get(of) ?? 0)) / 1000;
        return { name: 'reeltally_projection_idle_seconds', of, value } as const;
      });
      return [{ name: 'reeltally_projector_leading', value: leading ? 1 : 0 }, ...(leading ? idle : [])];
    },
  );
  metrics.collect(
    'projections',
    {
      reeltally_projection_lag_positions: {
        help: 'Commit position of the newest event for a read model, less its checkpoint',
        label: 'projection',
      },
    },
    whileLeading(leadership, async () =>
      Promise.all(
        projections.map(async (projection) => {
          const { lag } = await measureLag(connections, projection);
          return { name: 'reeltally_projection_lag_positions', of: projection.name, value: Number(lag) } as const;
        }),
      ),
    ),
  );
  return {
    begin: () => {
      for (const name of names) lastBatchMs.set(name, performance.now());
    },
    batchApplied: (name, events) => {
      lastBatchMs.set(name, performance.now());
      counted.batchApplied(name, events);
    },
  };
}

/** @param leadership of the dispatcher */
export function watchQueue(
  { metrics, pool, clock }: Connections,
  queue: ReturnType<typeof createJobQueue>,
  leadership: Leadership,
): void {
  metrics.collect(
    'queue',
    {
      reeltally_queue_pending_messages: { help: 'Messages of the work queue that no worker has received yet' },
      reeltally_queue_unacknowledged_messages: {
        help: 'Messages that a worker has received without claiming the job yet',
      },
      reeltally_queue_redelivered_messages: {
        help: 'Messages that were delivered more than once and are not acknowledged',
      },
    },
    whileLeading(
      () => leadership,
      async () => {
        const { pending, unacknowledged, redelivered } = await queue.depth();
        return [
          { name: 'reeltally_queue_pending_messages', value: pending },
          { name: 'reeltally_queue_unacknowledged_messages', value: unacknowledged },
          { name: 'reeltally_queue_redelivered_messages', value: redelivered },
        ];
      },
    ),
  );
  metrics.collect(
    'dispatcher',
    { reeltally_dispatcher_leading: { help: 'Whether this process is the leading dispatcher' } },
    () => [{ name: 'reeltally_dispatcher_leading', value: leadership.leading ? 1 : 0 }],
  );
  metrics.collect(
    'unclaimed_jobs',
    {
      reeltally_oldest_unclaimed_job_seconds: {
        help: 'How long the oldest waiting job has waited for a worker; 0 if none waits',
      },
    },
    whileLeading(
      () => leadership,
      async () => {
        const value = await oldestWaitingSeconds(pool, clock.now());
        return [{ name: 'reeltally_oldest_unclaimed_job_seconds', value }];
      },
    ),
  );
}

/** @param leadership of the dispatcher */
export function watchPendingVoids({ metrics, pool }: Connections, leadership: Leadership): void {
  metrics.collect(
    'pending_voids',
    {
      reeltally_unknown_outcomes_open: {
        help: 'Pending voids: appends of unknown outcome whose charges must not stay',
      },
      reeltally_oldest_unknown_outcome_seconds: {
        help: 'Age of the oldest pending void; 0 if there is none',
      },
    },
    whileLeading(
      () => leadership,
      async () => {
        const { count, oldestSeconds } = await measurePendingVoids(pool);
        return [
          { name: 'reeltally_unknown_outcomes_open', value: count },
          { name: 'reeltally_oldest_unknown_outcome_seconds', value: oldestSeconds },
        ];
      },
    ),
  );
}

/** @param leadership of the dispatcher */
export function watchPeriods({ metrics, pool, clock }: Connections, leadership: Leadership): void {
  metrics.collect(
    'periods',
    {
      reeltally_periods_not_closed: { help: 'Billing periods that are over and whose books are not closed yet' },
      reeltally_invoices_due: { help: 'Invoices that are due and not issued' },
    },
    whileLeading(
      () => leadership,
      async () => {
        const { notClosed, invoices } = await countDue(pool, clock.now());
        return [
          { name: 'reeltally_periods_not_closed', value: notClosed },
          { name: 'reeltally_invoices_due', value: invoices },
        ];
      },
    ),
  );
}

/** @param leadership of the dispatcher */
export function watchWarnings({ metrics, pool, clock }: Connections, leadership: Leadership): void {
  metrics.collect(
    'warnings',
    {
      reeltally_warnings_waiting: { help: 'Warnings that wait to be mailed' },
      reeltally_oldest_waiting_warning_seconds: { help: 'Age of the oldest waiting warning; 0 if none waits' },
    },
    whileLeading(
      () => leadership,
      async () => {
        const { count, oldestSeconds } = await measureWaitingWarnings(pool, clock.now());
        return [
          { name: 'reeltally_warnings_waiting', value: count },
          { name: 'reeltally_oldest_waiting_warning_seconds', value: oldestSeconds },
        ];
      },
    ),
  );
}

/** @param leadership of the dispatcher */
export function watchFiles({ metrics, pool, clock, config }: Connections, leadership: Leadership): void {
  metrics.collect(
    'files',
    {
      reeltally_oldest_overdue_file_seconds: {
        help: 'How late the most overdue file is for its expiry; 0 if none is late',
      },
    },
    whileLeading(
      () => leadership,
      async () => {
        const value = await oldestOverdueSeconds(pool, plusSeconds(clock.now(), -config.FILE_RETENTION_SECONDS));
        return [{ name: 'reeltally_oldest_overdue_file_seconds', value }];
      },
    ),
  );
}

/** @param audit its state; undefined in a process that does not lead */
export function watchAudit({ metrics }: Connections, audit: () => AuditState | undefined): void {
  metrics.collect(
    'audit',
    {
      reeltally_audit_divergences: { help: 'Divergences without acknowledgement, until they are repaired' },
      reeltally_audit_known_divergences: { help: 'Divergences that were examined and acknowledged' },
      reeltally_audit_events: { help: 'Events that the audit has verified since it last started over' },
      reeltally_audit_behind_seconds: {
        help: 'Time since the audit last reached the end of the log, or since it began',
      },
    },
    () => {
      const state = audit();
      if (!state) return [];
      return [
        { name: 'reeltally_audit_divergences', value: state.divergences },
        { name: 'reeltally_audit_known_divergences', value: state.known },
        { name: 'reeltally_audit_events', value: state.events },
        { name: 'reeltally_audit_behind_seconds', value: (performance.now() - state.caughtUpMs) / 1000 },
      ];
    },
  );
}

/** @param directories by the name that the label shows */
export function watchDisks({ metrics }: Connections, directories: Readonly<Record<string, string>>): void {
  metrics.collect(
    'disks',
    { reeltally_disk_free_bytes: { help: 'Free space on the file system of a directory', label: 'directory' } },
    () =>
      Promise.all(
        Object.entries(directories).map(async ([of, directory]) => ({
          name: 'reeltally_disk_free_bytes' as const,
          of,
          value: await diskFreeBytes(directory),
        })),
      ),
  );
}

/** @param isLow whether the worker takes no jobs for want of room */
export function watchDiskWatermark({ metrics }: Connections, isLow: () => boolean): void {
  metrics.collect(
    'disk_watermark',
    { reeltally_disk_low: { help: 'Whether this worker takes no jobs because a disk has too little free space' } },
    () => [{ name: 'reeltally_disk_low', value: isLow() ? 1 : 0 }],
  );
}
