import { dashboard, plot, stat, table } from './panel.ts';

export const servers = dashboard('servers', 'servers and guards', [
  stat('Processes that answer', 'Of those that Prometheus knows.', {
    unit: 'percentunit',
    expr: 'avg(up{job="reeltally"})',
    least: 1,
  }),
  stat('Servers ready', '1 if every process can work with every server.', {
    unit: 'none',
    expr: 'min(reeltally_server_ready)',
    least: 1,
  }),
  stat('Guards that hold', 'Share of the guards of all workers.', {
    unit: 'percentunit',
    expr: 'avg(reeltally_containment_guard)',
    least: 1,
  }),
  stat('Age of yt-dlp', 'Above 60 days it is time for a newer one.', {
    unit: 'd',
    expr: 'max(reeltally_engine_age_days)',
    warn: 45,
    bad: 60,
  }),
  plot('Servers, as processes see them', '1: ready, 0: not. /readyz of the process names the reason.', {
    unit: 'none',
    series: { '{{server}}': 'min by (server) (reeltally_server_ready)' },
  }),
  plot('Missing nodes', 'Servers of a cluster that are away or behind. It works without one of three.', {
    unit: 'none',
    series: { '{{server}}': 'max by (server) (reeltally_nodes_missing)' },
  }),
  plot('Processes', '1: answers Prometheus, 0: does not.', {
    unit: 'none',
    series: { '{{role}} {{instance}}': 'max by (role, instance) (up{job="reeltally"})' },
  }),
  plot('Missing gauges in five minutes', 'Scrapes that left out a group of gauges because a server was slow.', {
    unit: 'none',
    series: { '{{group}}': 'sum by (group) (increase(reeltally_scrape_failures_total[5m])) > 0' },
  }),
  plot('Processor time', 'Cores in use, by process.', {
    unit: 'none',
    series: {
      '{{role}} {{instance}}':
        'sum by (role, instance) (rate(process_cpu_seconds_total{job="reeltally"}[$__rate_interval]))',
    },
  }),
  plot('Memory', 'Resident memory, by process.', {
    unit: 'bytes',
    series: { '{{role}} {{instance}}': 'max by (role, instance) (process_resident_memory_bytes{job="reeltally"})' },
  }),
  plot('Open files', 'Share of the limit, by process.', {
    unit: 'percentunit',
    series: { '{{role}} {{instance}}': 'max by (role, instance) (process_open_fds / process_max_fds)' },
  }),
  plot('Appends without an outcome', "Appends under way; those that stay are the event store's fault.", {
    unit: 'none',
    series: { '{{role}} {{instance}}': 'sum by (role, instance) (reeltally_appends_open)' },
  }),
  plot('Appends sent again', 'Per second: the event store did not answer in time.', {
    unit: 'ops',
    series: { again: 'sum(rate(reeltally_append_resends_total[$__rate_interval]))' },
  }),
  plot('Pauses for garbage collection', 'Share of the time, by process.', {
    unit: 'percentunit',
    series: {
      '{{role}} {{instance}}': 'sum by (role, instance) (rate(nodejs_gc_duration_seconds_sum[$__rate_interval]))',
    },
  }),
  table('Guards', '1: holds; 0: this machine does not allow it.', {
    unit: 'none',
    expr: 'min by (instance, guard) (reeltally_containment_guard)',
  }),
  table('Versions of the downloader', 'Programs and their versions, by worker.', {
    unit: 'none',
    expr: 'max by (instance, program, version) (reeltally_engine_info)',
  }),
  table('Versions of Node', 'By process.', {
    unit: 'none',
    expr: 'max by (role, instance, version) (nodejs_version_info)',
  }),
  plot('Child processes', 'yt-dlp and ffprobe running.', {
    unit: 'none',
    series: { running: 'sum(reeltally_child_processes)' },
  }),
  plot('Ends of child processes', 'Per minute, except those that exit by themselves.', {
    unit: 'cpm',
    series: {
      '{{ending}}':
        '60 * sum by (ending) (rate(reeltally_child_process_endings_total{ending!="exited"}[$__rate_interval]))',
    },
  }),
  plot('Refused by the egress proxy', 'Per minute, by reason.', {
    unit: 'cpm',
    series: { '{{reason}}': '60 * sum by (reason) (rate(reeltally_egress_refusals_total[$__rate_interval]))' },
  }),
  plot('Traffic of downloads', 'Bytes per second of ended connections, in both directions.', {
    unit: 'Bps',
    series: { bytes: 'sum(rate(reeltally_egress_bytes_total[$__rate_interval]))' },
  }),
  plot('Connections of downloads', 'Open connections through the egress proxy.', {
    unit: 'none',
    series: { connections: 'sum(reeltally_egress_connections)' },
  }),
]);
