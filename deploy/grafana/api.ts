import { dashboard, plot, stat } from './panel.ts';

export const api = dashboard('api', 'API', [
  stat('Requests that the service failed, 1 h', 'Share of the requests to the API. The objective allows 0.1 %.', {
    unit: 'percentunit',
    expr: 'reeltally:api_errors:ratio_1h',
    warn: 0.001,
    bad: 0.0144,
  }),
  stat('Polls slower than 250 ms, 1 h', 'Share of the status polls. The objective allows 1 %.', {
    unit: 'percentunit',
    expr: 'reeltally:poll_slow:ratio_1h',
    warn: 0.01,
    bad: 0.144,
  }),
  stat('Requests', 'Requests to the API per second.', {
    unit: 'reqps',
    expr: 'sum(rate(reeltally_requests_total{route=~"/api/v1/.+"}[$__rate_interval]))',
  }),
  stat('Waiting polls', 'Status polls that wait for a change now.', {
    unit: 'none',
    expr: 'sum(reeltally_waiting_polls)',
  }),
  plot('Requests by endpoint', 'Requests that have ended, per second.', {
    unit: 'reqps',
    series: { '{{route}}': 'sum by (route) (rate(reeltally_requests_total{route=~"/api/v1/.+"}[$__rate_interval]))' },
  }),
  plot('99 % of requests are faster than', 'By endpoint, less the time that a poll waits on request.', {
    unit: 's',
    series: {
      '{{route}}':
        'histogram_quantile(0.99, sum by (route, le) (rate(reeltally_request_duration_seconds_bucket{route=~"/api/v1/.+"}[$__rate_interval])))',
    },
  }),
  plot('Half of the requests are faster than', 'By endpoint, less the time that a poll waits on request.', {
    unit: 's',
    series: {
      '{{route}}':
        'histogram_quantile(0.5, sum by (route, le) (rate(reeltally_request_duration_seconds_bucket{route=~"/api/v1/.+"}[$__rate_interval])))',
    },
  }),
  plot('Errors of the service', "Requests answered with an error that is not the client's, per second.", {
    unit: 'reqps',
    series: {
      '{{code}}':
        'sum by (code) (rate(reeltally_refusals_total{code=~"internal_error|enqueue_failed|unavailable|metadata_unavailable|delivery_failed"}[$__rate_interval]))',
    },
  }),
  plot('Refusals', 'Requests answered with an error of the client, per second.', {
    unit: 'reqps',
    series: {
      '{{code}}':
        'sum by (code) (rate(reeltally_refusals_total{code!~"internal_error|enqueue_failed|unavailable|metadata_unavailable|delivery_failed"}[$__rate_interval]))',
    },
  }),
  plot('Answers by status', 'All requests, per second; cut: the connection ended before the answer.', {
    unit: 'reqps',
    series: { '{{status}}': 'sum by (status) (rate(reeltally_requests_total[$__rate_interval]))' },
  }),
  plot('Rate at which the error budget burns', '1 uses exactly the budget of 30 days; 14.4 pages.', {
    unit: 'none',
    series: {
      '5 min': 'reeltally:api_errors:ratio_5m / 0.001',
      '1 h': 'reeltally:api_errors:ratio_1h / 0.001',
      '6 h': 'reeltally:api_errors:ratio_6h / 0.001',
      '3 days': 'reeltally:api_errors:ratio_3d / 0.001',
    },
  }),
  plot('Admission', 'Requests with a key in the right form, per second, by outcome.', {
    unit: 'reqps',
    series: { '{{outcome}}': 'sum by (outcome) (rate(reeltally_admissions_total[$__rate_interval]))' },
  }),
  plot('Requests in an admission statement', 'The mean; it grows when Postgres is slow.', {
    unit: 'none',
    series: {
      requests:
        'sum(rate(reeltally_admission_batch_requests_sum[$__rate_interval])) / sum(rate(reeltally_admission_batch_requests_count[$__rate_interval]))',
    },
  }),
  plot(
    'Connections',
    'Connections that carry a file, polls that wait, and connections closed unserved in five minutes.',
    {
      unit: 'none',
      series: {
        files: 'sum(reeltally_file_connections)',
        'waiting polls': 'sum(reeltally_waiting_polls)',
        dropped: 'sum(increase(reeltally_connections_dropped_total[5m]))',
      },
    },
  ),
  plot('Event loop', 'How late 1 % of the turns were, by process.', {
    unit: 's',
    series: { '{{role}} {{instance}}': 'max by (role, instance) (nodejs_eventloop_lag_p99_seconds)' },
  }),
]);
