import { dashboard, plot, stat, table } from './panel.ts';

export const jobs = dashboard('jobs', 'jobs', [
  stat('Oldest waiting job', 'How long it has waited for a worker.', {
    unit: 's',
    expr: 'max(reeltally_oldest_unclaimed_job_seconds)',
    warn: 30,
    bad: 300,
  }),
  stat('Slots in use', 'Downloads under way, of those that all workers take at a time.', {
    unit: 'percentunit',
    expr: 'sum(reeltally_downloads_running) / sum(reeltally_worker_slots)',
    warn: 0.9,
    bad: 1,
  }),
  stat('Jobs done, 1 h', 'Downloads that ended with a file.', {
    unit: 'none',
    expr: 'round(sum(increase(reeltally_jobs_finished_total{outcome="done"}[1h])))',
  }),
  stat('Jobs started late, 1 h', 'Share of the jobs that waited longer than 30 s. The objective allows 1 %.', {
    unit: 'percentunit',
    expr: 'reeltally:job_starts_late:ratio_1h',
    warn: 0.01,
    bad: 0.144,
  }),
  plot('Age of the oldest waiting job', 'A job that is over a limit of its account waits, too.', {
    unit: 's',
    series: { waiting: 'max(reeltally_oldest_unclaimed_job_seconds)' },
  }),
  plot(
    'Queue',
    'Messages that no worker has received, that one has received without claiming the job yet, and those of them that came again.',
    {
      unit: 'none',
      series: {
        pending: 'max(reeltally_queue_pending_messages)',
        unacknowledged: 'max(reeltally_queue_unacknowledged_messages)',
        redelivered: 'max(reeltally_queue_redelivered_messages)',
      },
    },
  ),
  plot('Slots', 'Downloads under way, and room for them.', {
    unit: 'none',
    series: { running: 'sum(reeltally_downloads_running)', slots: 'sum(reeltally_worker_slots)' },
  }),
  plot('Wait for a worker', 'From the queuing of a job to its first claim, without jobs over a limit.', {
    unit: 's',
    series: {
      median:
        'histogram_quantile(0.5, sum by (le) (rate(reeltally_job_start_seconds_bucket{postponed="no"}[$__rate_interval])))',
      '99 %':
        'histogram_quantile(0.99, sum by (le) (rate(reeltally_job_start_seconds_bucket{postponed="no"}[$__rate_interval])))',
    },
  }),
  plot('Jobs ended', 'Per minute.', {
    unit: 'cpm',
    series: { '{{outcome}}': '60 * sum by (outcome) (rate(reeltally_jobs_finished_total[$__rate_interval]))' },
    isStacked: true,
  }),
  plot('Why jobs fail', 'Failed jobs per minute, by reason.', {
    unit: 'cpm',
    series: {
      '{{reason}}':
        '60 * sum by (reason) (rate(reeltally_jobs_finished_total{outcome="failed"}[$__rate_interval])) > 0',
    },
    isStacked: true,
  }),
  plot('Attempts by platform', 'Attempts that have ended, per minute.', {
    unit: 'cpm',
    series: { '{{platform}}': '60 * sum by (platform) (rate(reeltally_attempts_ended_total[$__rate_interval])) > 0' },
    isStacked: true,
  }),
  plot('Failed attempts by platform', 'Share of the attempts of half an hour that ended without a file.', {
    unit: 'percentunit',
    series: {
      '{{platform}}':
        'sum by (platform) (increase(reeltally_attempts_ended_total{outcome!="done"}[30m])) / sum by (platform) (increase(reeltally_attempts_ended_total[30m]))',
    },
  }),
  table('Reasons by platform, 24 h', 'Attempts that ended without a file, by platform and reason.', {
    unit: 'none',
    expr: 'sort_desc(round(sum by (platform, reason) (increase(reeltally_attempts_ended_total{outcome!="done"}[24h]))) > 0)',
  }),
  plot('Jobs queued again', 'Per minute, by reason.', {
    unit: 'cpm',
    series: { '{{reason}}': '60 * sum by (reason) (rate(reeltally_jobs_released_total[$__rate_interval])) > 0' },
  }),
  plot(
    'Jobs held back',
    'Looks of free slots per minute that found jobs waiting for a limit of their account or platform.',
    {
      unit: 'cpm',
      series: { '{{quota}}': '60 * sum by (quota) (rate(reeltally_jobs_postponed_total[$__rate_interval]))' },
    },
  ),
  plot('Lost workers', 'Claims that the sweeper ended in ten minutes.', {
    unit: 'none',
    series: { claims: 'sum(increase(reeltally_claims_expired_total[10m]))' },
  }),
]);
