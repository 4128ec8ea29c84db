/** Series that a fault makes, in promtool's notation: a value, its step, and how often it repeats, every 15 s from 0 on. */
export interface Fault {
  series: Readonly<Record<string, string>>;
  /** When its alert must fire, in minutes; default: once `for` is over. */
  minutes?: number;
}

/** A gauge that has this value all the time. */
const stays = (value: number) => `${value}x400`;
/** A counter that grows by so much in each 15 s. */
const grows = (step: number) => `0+${step}x400`;

const polls = 'reeltally_request_duration_seconds';
const starts = 'reeltally_job_start_seconds';
const requests = 'reeltally_requests_total{route="/api/v1/credits",method="GET",status="503"}';
const unavailable = 'reeltally_refusals_total{code="unavailable"}';
const slowPolls = {
  [`${polls}_count{route="/api/v1/video/status"}`]: grows(1_000_000),
  [`${polls}_bucket{route="/api/v1/video/status",le="0.25"}`]: grows(700_000),
};
const lateStarts = {
  [`${starts}_count{postponed="no"}`]: grows(10_000),
  [`${starts}_bucket{postponed="no",le="30"}`]: grows(1_000),
};

/** For each alert the least that makes it fire. */
export const faults: Readonly<Record<string, Fault>> = {
  BooksDiverge: { series: { reeltally_audit_divergences: stays(1) } },
  TreeHeadsRefused: { series: { reeltally_tree_heads_refused: stays(1) } },
  TreeHeadsLate: { series: { reeltally_unsigned_leaves: stays(3) }, minutes: 66 },
  PersonalKeysUnusable: { series: { reeltally_personal_keys_of_other_secrets: stays(1) }, minutes: 11 },
  AuditBehind: { series: { reeltally_audit_behind_seconds: stays(86_401) } },
  UnknownOutcomeOpen: { series: { reeltally_oldest_unknown_outcome_seconds: stays(121) } },
  AppendOpen: { series: { reeltally_oldest_open_append_seconds: stays(61) } },
  InvoicesDue: { series: { reeltally_invoices_due: stays(1) } },
  PeriodsNotClosed: { series: { reeltally_periods_not_closed: '1x2000' } },
  RowsNotBelieved: { series: { 'reeltally_rows_not_believed_total{table="credits"}': '0x4 1x20' }, minutes: 2 },
  MailsWait: { series: { 'reeltally_oldest_waiting_mail_seconds{about="document"}': stays(3_601) } },
  NoApi: { series: {} },
  ConnectionsDropped: { series: { 'reeltally_connections_dropped_total{instance="a"}': '0x4 1x20' }, minutes: 2 },
  MetadataFails: {
    series: {
      'reeltally_refusals_total{code="metadata_unavailable"}': grows(1),
      'reeltally_requests_total{route="/api/v1/video/metadata"}': grows(1.5),
    },
    minutes: 8,
  },
  EventLoopLate: { series: { 'nodejs_eventloop_lag_p99_seconds{instance="a"}': stays(0.6) } },
  NoDispatcher: { series: { 'reeltally_dispatcher_leading{instance="a"}': stays(0) } },
  TwoLeaders: {
    series: {
      'reeltally_projector_leading{instance="a"}': stays(1),
      'reeltally_projector_leading{instance="b"}': stays(1),
    },
  },
  NoWorker: { series: {} },
  JobsWait: {
    series: {
      reeltally_oldest_unclaimed_job_seconds: stays(301),
      reeltally_downloads_running: stays(1),
      reeltally_worker_slots: stays(4),
      'reeltally_jobs_postponed_total{quota="account"}': stays(5),
    },
  },
  WorkersFull: {
    series: {
      reeltally_oldest_unclaimed_job_seconds: stays(61),
      reeltally_downloads_running: stays(4),
      reeltally_worker_slots: stays(4),
    },
  },
  WorkersLost: { series: { reeltally_claims_expired_total: '0x4 6x20' }, minutes: 2 },
  JobsFailByService: {
    series: {
      'reeltally_jobs_released_total{reason="internal_error"}': grows(1),
      'reeltally_jobs_finished_total{reason="internal_error",outcome="failed"}': grows(0),
    },
    minutes: 2,
  },
  PlatformFails: {
    series: {
      'reeltally_attempts_ended_total{platform="vimeo",outcome="released",reason="platform_error"}': grows(1),
      'reeltally_attempts_ended_total{platform="vimeo",outcome="done",reason="none"}': grows(0.5),
    },
    minutes: 8,
  },
  NoProjector: { series: { 'reeltally_projector_leading{instance="a"}': stays(0) } },
  ReadModelStuck: {
    series: {
      'reeltally_projection_lag_positions{projection="usage_and_jobs"}': stays(400),
      'reeltally_projection_idle_seconds{projection="usage_and_jobs"}': stays(31),
    },
  },
  ReadModelBehind: { series: { 'reeltally_projection_lag_positions{projection="usage_and_jobs"}': stays(2e6) } },
  InstanceDown: { series: { 'up{job="reeltally",instance="a"}': stays(0) } },
  ServerAway: {
    series: {
      'reeltally_server_ready{server="nats",instance="a"}': stays(0),
      'reeltally_server_ready{server="nats",instance="b"}': stays(1),
    },
  },
  NodeMissing: { series: { 'reeltally_nodes_missing{server="nats"}': stays(1) } },
  GaugesMissing: { series: { 'reeltally_scrape_failures_total{group="queue"}': grows(1) }, minutes: 6 },
  Restarting: { series: { 'process_start_time_seconds{job="reeltally",instance="a"}': '1x4 2x4 3x4 4x4' }, minutes: 4 },
  OpenFiles: { series: { process_open_fds: stays(900), process_max_fds: stays(1024) } },
  DiskLow: { series: { 'reeltally_disk_low{instance="a"}': stays(1) } },
  DiskFilling: { series: { 'reeltally_disk_free_bytes{instance="a",directory="work"}': stays(9e9) } },
  FilesOverdue: { series: { reeltally_oldest_overdue_file_seconds: stays(601) } },
  GuardMissing: { series: { 'reeltally_containment_guard{instance="a",guard="network"}': stays(0) } },
  DownloaderOld: { series: { 'reeltally_engine_age_days{instance="a"}': stays(61) } },
  EgressRefused: { series: { 'reeltally_egress_refusals_total{reason="not_public"}': '0x4 1x20' }, minutes: 2 },
  ChildrenKilled: { series: { 'reeltally_child_process_endings_total{ending="memory_full"}': grows(1) }, minutes: 3 },
  DownloaderDoesNotStart: {
    series: { 'reeltally_child_process_endings_total{ending="not_started",instance="a"}': '0x4 1x20' },
    minutes: 2,
  },
  ApiErrorsFastBurn: { series: { [unavailable]: grows(20), [requests]: grows(1_000) }, minutes: 4 },
  ApiErrorsSlowBurn: { series: { [unavailable]: grows(4_000), [requests]: grows(1_000_000) }, minutes: 17 },
  PollsSlowFastBurn: { series: slowPolls, minutes: 4 },
  PollsSlowSlowBurn: { series: slowPolls, minutes: 17 },
  JobsStartLateFastBurn: { series: lateStarts, minutes: 4 },
  JobsStartLateSlowBurn: { series: lateStarts, minutes: 17 },
};

/** What a service that works shows, for as long as the faults last. */
export const healthy: Readonly<Record<string, string>> = {
  'up{job="reeltally",instance="a"}': stays(1),
  'process_start_time_seconds{job="reeltally",instance="a"}': stays(1),
  'reeltally_dispatcher_leading{instance="a"}': stays(1),
  'reeltally_projector_leading{instance="a"}': stays(1),
  'reeltally_projector_leading{instance="b"}': stays(0),
  'reeltally_server_ready{server="nats",instance="a"}': stays(1),
  'reeltally_nodes_missing{server="event_store"}': stays(0),
  'reeltally_projection_lag_positions{projection="usage_and_jobs"}': stays(0),
  'reeltally_projection_idle_seconds{projection="usage_and_jobs"}': grows(15),
  reeltally_waiting_polls: stays(3),
  reeltally_worker_slots: stays(4),
  reeltally_downloads_running: stays(4),
  // An account over its limit: its jobs wait, and nobody is to blame.
  reeltally_oldest_unclaimed_job_seconds: stays(20),
  'reeltally_jobs_postponed_total{quota="account"}': grows(3),
  reeltally_audit_divergences: stays(0),
  reeltally_audit_behind_seconds: stays(2),
  reeltally_tree_heads_refused: stays(0),
  reeltally_unsigned_leaves: stays(0),
  'reeltally_rows_not_believed_total{table="credits"}': stays(0),
  // Few requests, and one of them failed: no reason to wake anybody.
  [requests]: grows(0.1),
  [unavailable]: `0x100 ${stays(1)}`,
};
