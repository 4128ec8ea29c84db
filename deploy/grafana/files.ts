import { dashboard, plot, stat } from './panel.ts';

export const files = dashboard('files', 'files', [
  stat('Least free space', 'On any disk of work or files.', {
    unit: 'bytes',
    expr: 'min(reeltally_disk_free_bytes)',
    least: 10e9,
  }),
  stat('Workers without room', 'They take no jobs until there is more space.', {
    unit: 'none',
    expr: 'sum(reeltally_disk_low)',
    bad: 1,
  }),
  stat('Most overdue file', 'How late it is for its expiry.', {
    unit: 's',
    expr: 'max(reeltally_oldest_overdue_file_seconds)',
    warn: 60,
    bad: 600,
  }),
  plot('Free space', 'By worker and directory.', {
    unit: 'bytes',
    series: { '{{instance}} {{directory}}': 'min by (instance, directory) (reeltally_disk_free_bytes)' },
  }),
  plot('Files in an hour', 'Files finished, expired and removed over the hour before each point.', {
    unit: 'none',
    series: {
      finished: 'sum(increase(reeltally_jobs_finished_total{outcome="done"}[1h]))',
      expired: 'sum(increase(reeltally_files_expired_total[1h]))',
      removed: 'sum(increase(reeltally_files_removed_total[1h]))',
    },
  }),
  plot('Bytes removed in an hour', 'Of expired files, and of what attempts left for failed downloads.', {
    unit: 'bytes',
    series: { '{{of}}': 'sum by (of) (increase(reeltally_file_bytes_removed_total[1h]))' },
  }),
  plot('Connections that carry a file', 'By process.', {
    unit: 'none',
    series: { '{{role}} {{instance}}': 'sum by (role, instance) (reeltally_file_connections)' },
  }),
  plot('Files that were gone', 'Status polls answered with delivery_failed, per minute: most ask too late.', {
    unit: 'cpm',
    series: { delivery_failed: '60 * sum(rate(reeltally_refusals_total{code="delivery_failed"}[$__rate_interval]))' },
  }),
]);
