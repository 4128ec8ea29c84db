import { projections } from '../../projections/all.ts';
import { measureWaitingDocumentMails } from '../../projections/document-mails.ts';
import { measureLags } from '../../projections/runner/wait-for-checkpoint.ts';
import { measureWaitingWarnings } from '../../projections/usage-warnings.ts';
import { countDue } from '../../projections/work-lists/due-periods.ts';
import { oldestOverdueSeconds } from '../../projections/work-lists/kept-files.ts';
import { oldestWaitingSeconds } from '../../projections/work-lists/unfinished-jobs.ts';
import type { ConnectedEventStore } from '../adapters/event-store/event-store.ts';
import { countMissingNodes } from '../adapters/event-store/missing-nodes.ts';
import type { WatchedJobQueue } from '../adapters/nats/job-queue.ts';
import type { Leadership } from '../adapters/postgres/leadership.ts';
import { measurePendingVoids } from '../adapters/postgres/pending-voids.ts';
import { isStandbyMissing } from '../adapters/postgres/store-on-standby.ts';
import type { Metrics } from '../adapters/telemetry/metrics.ts';
import { observeProjections } from '../adapters/telemetry/observers.ts';
import type { AuditState } from '../dispatcher/audit-continuously.ts';
import { plusSeconds } from '../domain/instant.ts';
import type { IdleReaders } from '../http/files/idle-readers.ts';
import type { WaitingPolls } from '../http/waiting-polls.ts';
import { mailSubjects, type ProjectionObserver } from '../ports/observers.ts';
import { diskFreeBytes } from '../system/disk.ts';
import type { Connections } from './connect.ts';
import type { LogOutput } from './log-output.ts';
import { askServers } from './readiness.ts';

/** The gauges that are asked for at a scrape, each by the role that it belongs to. */

type GaugesOf<Name extends string> = Record<Name, { help: string }>;

/** Adds a group of gauges without labels. @param read gives their values; undefined leaves the group out of the scrape */
function collectValues<Name extends string>(
  metrics: Metrics,
  group: string,
  helps: Readonly<Record<Name, string>>,
  read: () => Promise<Record<Name, number> | undefined>,
): void {
  const names = Object.keys(helps) as Name[];
  const definitions = Object.fromEntries(names.map((name) => [name, { help: helps[name] }])) as GaugesOf<Name>;
  metrics.collect(group, definitions, async () => {
    const values = await read();
    return values ? names.map((name) => ({ name, value: values[name] })) : [];
  });
}

/** Several processes may have the role: the one that leads reports the gauges of what they share. */
const whileLeading =
  <Value>(leadership: Leadership, read: () => Promise<Value>) =>
  async (): Promise<Value | undefined> =>
    leadership.leading ? await read() : undefined;

export function watchAppends(metrics: Metrics, store: ConnectedEventStore): void {
  const helps = {
    reeltally_appends_open: 'Appends whose outcome is not known yet',
    reeltally_oldest_open_append_seconds: 'Age of the oldest append without a known outcome',
  };
  collectValues(metrics, 'appends', helps, async () => {
    const { count, oldestSeconds } = store.openAppends();
    return { reeltally_appends_open: count, reeltally_oldest_open_append_seconds: oldestSeconds };
  });
}

/** A silent server counts as away before the scrape gives the group up. */
const serverTimeoutMs = 800;

export function watchServers(connections: Connections): void {
  const help = 'Whether this process can work with a server, as /readyz says it';
  connections.metrics.collect('servers', { reeltally_server_ready: { help, label: 'server' } }, async () =>
    Object.entries(await askServers(connections, serverTimeoutMs)).map(([of, state]) => ({
      name: 'reeltally_server_ready' as const,
      of,
      value: state === 'ok' ? 1 : 0,
    })),
  );
}

export function watchLog(metrics: Metrics, output: LogOutput): void {
  const help = 'Log lines that were lost because nobody read the output of this process';
  metrics.watchCount('reeltally_log_lines_lost_total', help, () => output.lost);
}

export function watchReaders(metrics: Metrics, readers: IdleReaders): void {
  const helps = { reeltally_file_connections: 'Connections that carry a file now' };
  collectValues(metrics, 'readers', helps, async () => ({ reeltally_file_connections: readers.count }));
}

export function watchWaitingPolls(metrics: Metrics, waitingPolls: WaitingPolls): void {
  const helps = { reeltally_waiting_polls: 'Status polls that wait for a change' };
  collectValues(metrics, 'waiting', helps, async () => ({ reeltally_waiting_polls: waitingPolls.count }));
}

export interface WatchedProjections extends ProjectionObserver {
  /** Told when this process begins to lead: a read model's silence counts from then on. */
  begin(): void;
}

/** How far back a scrape looks for the newest event of a read model: a few reads, so that it has an answer however long the log is. */
const maxLagEvents = 2_000;

/** @param leadership of the projector */
export function watchProjections(connections: Connections, leadership: () => Leadership): WatchedProjections {
  const { metrics } = connections;
  const names = projections.map(({ name }) => name);
  const counted = observeProjections([metrics.registry], names);
  const lastBatchMs = new Map<string, number>();
  const newestKnown = new Map<string, bigint>();
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
    async () => {
      const measured = leadership().leading ? projections : [];
      const lags = await measureLags(connections, measured, { maxEvents: maxLagEvents, newestKnown });
      return lags.map(({ name: of, lag }) => ({
        name: 'reeltally_projection_lag_positions' as const,
        of,
        value: Number(lag),
      }));
    },
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
  queue: WatchedJobQueue,
  leadership: Leadership,
): void {
  const depth = {
    reeltally_queue_pending_messages: 'Messages of the work queue that no worker has received yet',
    reeltally_queue_unacknowledged_messages: 'Messages that a worker has received without claiming the job yet',
    reeltally_queue_redelivered_messages: 'Messages that were delivered more than once and are not acknowledged',
  };
  const readDepth = async () => {
    const { pending, unacknowledged, redelivered } = await queue.depth();
    return {
      reeltally_queue_pending_messages: pending,
      reeltally_queue_unacknowledged_messages: unacknowledged,
      reeltally_queue_redelivered_messages: redelivered,
    };
  };
  collectValues(metrics, 'queue', depth, whileLeading(leadership, readDepth));
  const leading = { reeltally_dispatcher_leading: 'Whether this process is the leading dispatcher' };
  collectValues(metrics, 'dispatcher', leading, async () => ({
    reeltally_dispatcher_leading: leadership.leading ? 1 : 0,
  }));
  const oldest = {
    reeltally_oldest_unclaimed_job_seconds: 'How long the oldest waiting job has waited for a worker; 0 if none waits',
  };
  const readOldest = async () => ({
    reeltally_oldest_unclaimed_job_seconds: await oldestWaitingSeconds(pool, clock.now()),
  });
  collectValues(metrics, 'unclaimed_jobs', oldest, whileLeading(leadership, readOldest));
}

/** @param leadership of the dispatcher */
export function watchNodes(
  { metrics, addresses, pool }: Connections,
  queue: WatchedJobQueue,
  leadership: Leadership,
): void {
  const help = 'Servers of a cluster that are away, or whose copy of the work queue is behind';
  const name = 'reeltally_nodes_missing' as const;
  const read = async () => {
    const [eventStore, nats, isAlone] = await Promise.all([
      countMissingNodes(addresses.eventStoreUrl, serverTimeoutMs),
      queue.missingReplicas(),
      isStandbyMissing(pool),
    ]);
    return [
      { name, of: 'event_store', value: eventStore },
      { name, of: 'nats', value: nats },
      { name, of: 'postgres', value: isAlone ? 1 : 0 },
    ];
  };
  metrics.collect('nodes', { [name]: { help, label: 'server' } }, async () => (leadership.leading ? await read() : []));
}

/** @param leadership of the dispatcher */
export function watchPendingVoids({ metrics, pool }: Connections, leadership: Leadership): void {
  const helps = {
    reeltally_unknown_outcomes_open: 'Pending voids: appends of unknown outcome whose charges must not stay',
    reeltally_oldest_unknown_outcome_seconds: 'Age of the oldest pending void; 0 if there is none',
  };
  const read = async () => {
    const { count, oldestSeconds } = await measurePendingVoids(pool);
    return { reeltally_unknown_outcomes_open: count, reeltally_oldest_unknown_outcome_seconds: oldestSeconds };
  };
  collectValues(metrics, 'pending_voids', helps, whileLeading(leadership, read));
}

/** @param leadership of the dispatcher */
export function watchPeriods({ metrics, pool, clock }: Connections, leadership: Leadership): void {
  const helps = {
    reeltally_periods_not_closed: 'Billing periods that are over and whose books are not closed yet',
    reeltally_invoices_due: 'Invoices that are due and not issued',
  };
  const read = async () => {
    const { notClosed, invoices } = await countDue(pool, clock.now());
    return { reeltally_periods_not_closed: notClosed, reeltally_invoices_due: invoices };
  };
  collectValues(metrics, 'periods', helps, whileLeading(leadership, read));
}

/** @param leadership of the dispatcher */
export function watchMails({ metrics, pool, clock }: Connections, leadership: Leadership): void {
  const read = async () => {
    const of = { warning: measureWaitingWarnings, document: measureWaitingDocumentMails };
    const measured = mailSubjects.map(async (about) => {
      const { count, oldestSeconds } = await of[about](pool, clock.now());
      return [
        { name: 'reeltally_mails_waiting' as const, of: about, value: count },
        { name: 'reeltally_oldest_waiting_mail_seconds' as const, of: about, value: oldestSeconds },
      ];
    });
    return (await Promise.all(measured)).flat();
  };
  metrics.collect(
    'mails',
    {
      reeltally_mails_waiting: { help: 'Mails that wait to be sent, by what they are about', label: 'about' },
      reeltally_oldest_waiting_mail_seconds: {
        help: 'Age of the oldest waiting mail; 0 if none waits',
        label: 'about',
      },
    },
    async () => (leadership.leading ? await read() : []),
  );
}

/** @param leadership of the dispatcher */
export function watchFiles({ metrics, pool, clock, config }: Connections, leadership: Leadership): void {
  const helps = {
    reeltally_oldest_overdue_file_seconds: 'How late the most overdue file is for its expiry; 0 if none is late',
  };
  const read = async () => {
    const due = plusSeconds(clock.now(), -config.FILE_RETENTION_SECONDS);
    return { reeltally_oldest_overdue_file_seconds: await oldestOverdueSeconds(pool, due) };
  };
  collectValues(metrics, 'files', helps, whileLeading(leadership, read));
}

/** @param audit its state; undefined in a process that does not lead */
export function watchAudit({ metrics }: Connections, audit: () => AuditState | undefined): void {
  const helps = {
    reeltally_audit_divergences: 'Divergences without acknowledgement, until they are repaired',
    reeltally_audit_known_divergences: 'Divergences that were examined and acknowledged',
    reeltally_audit_events: 'Events that the audit has verified since it last started over',
    reeltally_audit_behind_seconds: 'Time since the audit last reached the end of the log, or since it began',
  };
  collectValues(metrics, 'audit', helps, async () => {
    const state = audit();
    return (
      state && {
        reeltally_audit_divergences: state.divergences,
        reeltally_audit_known_divergences: state.known,
        reeltally_audit_events: state.events,
        reeltally_audit_behind_seconds: (performance.now() - state.caughtUpMs) / 1000,
      }
    );
  });
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

/** @param isLow tells if the worker takes no jobs for want of room */
export function watchDiskWatermark({ metrics }: Connections, isLow: () => boolean): void {
  const helps = { reeltally_disk_low: 'Whether this worker takes no jobs because a disk has too little free space' };
  collectValues(metrics, 'disk_watermark', helps, async () => ({ reeltally_disk_low: isLow() ? 1 : 0 }));
}
