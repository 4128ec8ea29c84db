import { Gauge, Histogram, type Registry } from 'prom-client';
import {
  childEndings,
  type ChildObserver,
  destinationRefusals,
  type DownloadObserver,
  type EgressObserver,
  proxyRefusals,
  quotaNames,
} from '../../ports/observers.ts';
import { counter } from './counter.ts';

/** Counts the downloads and child processes of a worker; labels come from closed sets. */

const startSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];

/** @param options.platforms whose downloads this worker takes */
export function observeDownloads(
  registers: Registry[],
  { slots, platforms }: { slots: number; platforms: readonly string[] },
): DownloadObserver {
  const running = new Gauge({
    name: 'reeltally_downloads_running',
    help: 'Downloads in progress in this worker',
    registers,
  });
  const available = new Gauge({ name: 'reeltally_worker_slots', help: 'Downloads that this worker takes', registers });
  const postponed = counter(registers, 'reeltally_jobs_postponed_total', {
    help: 'Looks of a free slot that found jobs waiting because their account or their platform is at its limit',
    known: { quota: quotaNames },
  });
  available.set(slots);
  const starts = new Histogram({
    name: 'reeltally_job_start_seconds',
    help: 'From the queuing of a job to its first claim',
    labelNames: ['postponed'],
    buckets: startSeconds,
    registers,
  });
  for (const postponed of ['no', 'yes']) starts.zero({ postponed });
  return {
    downloadStarted: () => running.inc(),
    firstClaimed: (waitedSeconds, wasPostponed) =>
      starts.observe({ postponed: wasPostponed ? 'yes' : 'no' }, waitedSeconds),
    stepOfPlatform: countAttempts(registers, platforms),
    downloadEnded: () => running.dec(),
    jobPostponed: (quota) => postponed.inc({ quota }),
  };
}

/** Reasons appear once they occur: all of them for all platforms would be hundreds of series that stay 0. */
function countAttempts(registers: Registry[], platforms: readonly string[]): DownloadObserver['stepOfPlatform'] {
  const attempts = counter(registers, 'reeltally_attempts_ended_total', {
    help: 'Attempts that this worker has ended, by platform, outcome and reason',
    labels: ['platform', 'outcome', 'reason'],
  });
  for (const platform of platforms) attempts.inc({ platform, outcome: 'done', reason: 'none' }, 0);
  return (name, event) => {
    // A stored name may be that of a platform that is served no more.
    const platform = platforms.includes(name) ? name : 'other';
    if (event.type === 'JobCompleted') attempts.inc({ platform, outcome: 'done', reason: 'none' });
    else if (event.type === 'JobFailed') attempts.inc({ platform, outcome: 'failed', reason: event.data.reason });
    else if (event.type === 'JobReleased') attempts.inc({ platform, outcome: 'released', reason: event.data.reason });
  };
}

export function observeChildren(registers: Registry[]): ChildObserver {
  const running = new Gauge({
    name: 'reeltally_child_processes',
    help: 'Child processes running: yt-dlp and ffprobe, each counted as one with its own children',
    registers,
  });
  const endings = counter(registers, 'reeltally_child_process_endings_total', {
    help: 'Child processes that have ended, by the reason of their end',
    known: { ending: childEndings },
  });
  return {
    childStarted: () => running.inc(),
    childEnded: (ending) => {
      running.dec();
      endings.inc({ ending });
    },
  };
}

export function observeEgress(registers: Registry[]): EgressObserver {
  const open = new Gauge({
    name: 'reeltally_egress_connections',
    help: 'Connections of child processes through the egress proxy',
    registers,
  });
  const bytes = counter(registers, 'reeltally_egress_bytes_total', {
    help: 'Bytes of ended connections of child processes, in both directions',
  });
  const refusals = counter(registers, 'reeltally_egress_refusals_total', {
    help: 'Refusals of the egress proxy and its guard to child processes, by reason',
    known: { reason: [...destinationRefusals, ...proxyRefusals] },
  });
  return {
    egressRefused: (reason) => refusals.inc({ reason }),
    egressOpened: () => open.inc(),
    egressClosed: (carried) => {
      open.dec();
      bytes.inc(carried);
    },
  };
}

/** Shows whether each guard of child processes holds, by the self-test at start. */
export function showGuards(registers: Registry[], guards: readonly { guard: string; state: string }[]): void {
  const holds = new Gauge({
    name: 'reeltally_containment_guard',
    help: 'Whether a guard of child processes is on (1), or this machine does not allow it (0)',
    labelNames: ['guard'],
    registers,
  });
  for (const { guard, state } of guards) holds.set({ guard }, state === 'on' ? 1 : 0);
}

/** @param ageDays reads the current age; null if it is unknown */
export function showEngine(
  registers: Registry[],
  programs: readonly { program: string; version: string | null }[],
  ageDays: () => number | null,
): void {
  const versions = new Gauge({
    name: 'reeltally_engine_info',
    help: '1 for each program of the downloader, by its version',
    labelNames: ['program', 'version'],
    registers,
  });
  for (const { program, version } of programs) versions.set({ program, version: version ?? 'unknown' }, 1);
  new Gauge({
    name: 'reeltally_engine_age_days',
    help: 'Days since the date in the version of yt-dlp; -1 if it has none',
    registers,
    collect() {
      this.set(ageDays() ?? -1);
    },
  });
}
