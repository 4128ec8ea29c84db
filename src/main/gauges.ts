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
import type { SigningState } from '../dispatcher/sign-tree-heads.ts';
import { plusSeconds } from '../domain/instant.ts';
import type { IdleReaders } from '../http/files/idle-readers.ts';
import type { WaitingPolls } from '../http/waiting-polls.ts';
import { mailSubjects, type ProjectionObserver } from '../ports/observers.ts';
import { diskFreeBytes } from '../system/disk.ts';
import type { Connections } from './connect.ts';
import type { LogOutput } from './log-output.ts';
import { askServers } from './readiness.ts';

/** The gauges that are asked for at a scrape, each by the role that it belongs to. */

/** What a gauge without labels says, and the field of what is read for its group that has its value: true is 1. */
type Gauge<Read> = readonly [help: string, field: keyof Read];

/** Adds a group of gauges without labels. @param read undefined leaves the group out of the scrape */
function collectValues<Read extends object>(
  metrics: Metrics,
  group: string,
  read: () => Promise<Read | undefined> | Read | undefined,
  gauges: Readonly<Record<string, Gauge<Read>>>,
): void {
  const definitions = Object.fromEntries(Object.entries(gauges).map(([name, [help]]) => [name, { help }]));
  metrics.collect(group, definitions, async () => {
    const found = await read();
    if (found === undefined) return [];
    return Object.entries(gauges).map(([name, [, field]]) => ({ name, value: Number(found[field]) }));
  });
}

/** Adds a group of one gauge with a label. @param read gives its values by those of the label; undefined leaves it out */
function collectLabelled(
  metrics: Metrics,
  group: string,
  { name, help, label }: { name: string; help: string; label: string },
  read: () => Promise<Readonly<Record<string, number>> | undefined>,
): void {
  metrics.collect(group, { [name]: { help, label } }, async () =>
    Object.entries((await read()) ?? {}).map(([of, value]) => ({ name, of, value })),
  );
}

/** Several processes may have the role: the one that leads reports the gauges of what they share. */
const whileLeading =
  <Value>(leadership: Leadership, read: () => Promise<Value>) =>
  async (): Promise<Value | undefined> =>
    leadership.leading ? await read() : undefined;

export function watchAppends(metrics: Metrics, store: ConnectedEventStore): void {
  collectValues(metrics, 'appends', () => store.openAppends(), {
    reeltally_appends_open: ['Appends whose outcome is not known yet', 'count'],
    reeltally_oldest_open_append_seconds: ['Age of the oldest append without a known outcome', 'oldestSeconds'],
  });
}

/** A silent server counts as away before the scrape gives the group up. */
const serverTimeoutMs = 800;

export function watchServers(connections: Connections): void {
  const help = 'Whether this process can work with a server, as /readyz says it';
  const gauge = { name: 'reeltally_server_ready', help, label: 'server' };
  collectLabelled(connections.metrics, 'servers', gauge, async () => {
    const states = Object.entries(await askServers(connections, serverTimeoutMs));
    return Object.fromEntries(states.map(([server, state]) => [server, Number(state === 'ok')]));
  });
}

export function watchLog(metrics: Metrics, output: LogOutput): void {
  const help = 'Log lines that were lost because nobody read the output of this process';
  metrics.watchCount('reeltally_log_lines_lost_total', help, () => output.lost);
}

export function watchReaders(metrics: Metrics, readers: IdleReaders): void {
  collectValues(metrics, 'readers', () => readers, {
    reeltally_file_connections: ['Connections that carry a file now', 'count'],
  });
}

export function watchWaitingPolls(metrics: Metrics, waitingPolls: WaitingPolls): void {
  collectValues(metrics, 'waiting', () => waitingPolls, {
    reeltally_waiting_polls: ['Status polls that wait for a change', 'count'],
  });
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
  const help = 'Commit position of the newest event for a read model, less its checkpoint';
  const lagging = { name: 'reeltally_projection_lag_positions', help, label: 'projection' };
  collectLabelled(metrics, 'projections', lagging, async () => {
    const measured = leadership().leading ? projections : [];
    const lags = await measureLags(connections, measured, { maxEvents: maxLagEvents, newestKnown });
    return Object.fromEntries(lags.map(({ name, lag }) => [name, Number(lag)]));
  });
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
export function watchDispatcher(connections: Connections, queue: WatchedJobQueue, leadership: Leadership): void {
  const { metrics, pool, clock, config, addresses } = connections;
  collectValues(metrics, 'dispatcher', () => leadership, {
    reeltally_dispatcher_leading: ['Whether this process is the leading dispatcher', 'leading'],
  });
  const depth = whileLeading(leadership, () => queue.depth());
  collectValues(metrics, 'queue', depth, {
    reeltally_queue_pending_messages: ['Messages of the work queue that no worker has received yet', 'pending'],
    reeltally_queue_unacknowledged_messages: [
      'Messages that a worker has received without claiming the job yet',
      'unacknowledged',
    ],
    reeltally_queue_redelivered_messages: [
      'Messages that were delivered more than once and are not acknowledged',
      'redelivered',
    ],
  });
  const oldest = whileLeading(leadership, async () => ({ seconds: await oldestWaitingSeconds(pool, clock.now()) }));
  collectValues(metrics, 'unclaimed_jobs', oldest, {
    reeltally_oldest_unclaimed_job_seconds: [
      'How long the oldest waiting job has waited for a worker; 0 if none waits',
      'seconds',
    ],
  });

  const missing = async () => {
    const [event_store, nats, isAlone] = await Promise.all([
      countMissingNodes(addresses.eventStoreUrl, serverTimeoutMs),
      queue.missingReplicas(),
      isStandbyMissing(pool),
    ]);
    return { event_store, nats, postgres: Number(isAlone) };
  };
  const help = 'Servers of a cluster that are away, or whose copy of the work queue is behind';
  const nodes = { name: 'reeltally_nodes_missing', help, label: 'server' };
  collectLabelled(metrics, 'nodes', nodes, whileLeading(leadership, missing));

  const voids = whileLeading(leadership, () => measurePendingVoids(pool));
  collectValues(metrics, 'pending_voids', voids, {
    reeltally_unknown_outcomes_open: ['Pending voids: appends of unknown outcome whose charges must not stay', 'count'],
    reeltally_oldest_unknown_outcome_seconds: ['Age of the oldest pending void; 0 if there is none', 'oldestSeconds'],
  });

  const due = whileLeading(leadership, () => countDue(pool, clock.now()));
  collectValues(metrics, 'periods', due, {
    reeltally_periods_not_closed: ['Billing periods that are over and whose books are not closed yet', 'notClosed'],
    reeltally_invoices_due: ['Invoices that are due and not issued', 'invoices'],
  });
  const overdue = async () => {
    const expired = plusSeconds(clock.now(), -config.FILE_RETENTION_SECONDS);
    return { seconds: await oldestOverdueSeconds(pool, expired) };
  };
  collectValues(metrics, 'files', whileLeading(leadership, overdue), {
    reeltally_oldest_overdue_file_seconds: [
      'How late the most overdue file is for its expiry; 0 if none is late',
      'seconds',
    ],
  });
  watchMails(connections, leadership);
}

/** @param countOfOtherSecrets keys that are not wrapped with the current secret */
export function watchPersonalKeys(
  { metrics }: Connections,
  leadership: Leadership,
  countOfOtherSecrets: () => Promise<number>,
): void {
  const read = async () => ({ count: await countOfOtherSecrets() });
  collectValues(metrics, 'personal_keys', whileLeading(leadership, read), {
    reeltally_personal_keys_of_other_secrets: [
      'Keys of personal data that are not wrapped with the current secret',
      'count',
    ],
  });
}

function watchMails({ metrics, pool, clock }: Connections, leadership: Leadership): void {
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

/** @param audit its state; undefined in a process that does not lead */
export function watchAudit({ metrics }: Connections, audit: () => AuditState | undefined): void {
  const read = () => {
    const state = audit();
    return state && { ...state, behindSeconds: (performance.now() - state.caughtUpMs) / 1000 };
  };
  collectValues(metrics, 'audit', read, {
    reeltally_audit_divergences: ['Divergences without acknowledgement, until they are repaired', 'divergences'],
    reeltally_audit_known_divergences: ['Divergences that were examined and acknowledged', 'known'],
    reeltally_audit_events: ['Events that the audit has verified since it last started over', 'events'],
    reeltally_audit_behind_seconds: [
      'Time since the audit last reached the end of the log, or since it began',
      'behindSeconds',
    ],
  });
}

/** @param signing its state; undefined in a process that does not lead, or has no key */
export function watchSigning({ metrics }: Connections, signing: () => SigningState | undefined): void {
  const read = () => {
    const state = signing();
    return state && { ...state, isRefused: state.refused !== undefined };
  };
  collectValues(metrics, 'signing', read, {
    reeltally_tree_heads_refused: [
      'Whether heads are not signed, because log, Postgres and kept note disagree',
      'isRefused',
    ],
    reeltally_unsigned_leaves: ['Closings, invoices and credit notes that no signed head covers yet', 'unsigned'],
  });
}

/** @param directories by the name that the label shows */
export function watchDisks({ metrics }: Connections, directories: Readonly<Record<string, string>>): void {
  const help = 'Free space on the file system of a directory';
  collectLabelled(metrics, 'disks', { name: 'reeltally_disk_free_bytes', help, label: 'directory' }, async () => {
    const free = Object.entries(directories).map(async ([of, path]) => [of, await diskFreeBytes(path)] as const);
    return Object.fromEntries(await Promise.all(free));
  });
}

/** @param isLow tells if the worker takes no jobs for want of room */
export function watchDiskWatermark({ metrics }: Connections, isLow: () => boolean): void {
  collectValues(metrics, 'disk_watermark', () => ({ isLow: isLow() }), {
    reeltally_disk_low: ['Whether this worker takes no jobs because a disk has too little free space', 'isLow'],
  });
}
