import { dashboard, plot, stat } from './panel.ts';

export const readModels = dashboard('read-models', 'read models', [
  stat('Projectors that lead', 'It must be 1.', {
    unit: 'none',
    expr: 'sum(reeltally_projector_leading)',
    least: 1,
    bad: 2,
  }),
  stat('Largest lag', 'Positions of the log that a read model has not applied yet.', {
    unit: 'none',
    expr: 'max(reeltally_projection_lag_positions)',
    warn: 100000,
    bad: 1000000,
  }),
  stat('Rows not believed, 1 h', 'Rows of Postgres that this installation has not written.', {
    unit: 'none',
    expr: 'round(sum(increase(reeltally_rows_not_believed_total[1h])))',
    bad: 1,
  }),
  plot('Lag', 'Positions of the log that a read model has not applied yet.', {
    unit: 'none',
    series: { '{{projection}}': 'max by (projection) (reeltally_projection_lag_positions)' },
  }),
  plot('Idle', 'Time since the last batch. Only together with a lag is it a fault.', {
    unit: 's',
    series: { '{{projection}}': 'max by (projection) (reeltally_projection_idle_seconds)' },
  }),
  plot('Events applied', 'Per second, by read model.', {
    unit: 'ops',
    series: { '{{projection}}': 'sum by (projection) (rate(reeltally_projected_events_total[$__rate_interval]))' },
  }),
  plot('Events stored', 'Per second, by all processes: what read models have to apply.', {
    unit: 'ops',
    series: { stored: 'sum(rate(reeltally_events_stored_total[$__rate_interval]))' },
  }),
  plot('Leaders', 'Processes that lead: one projector and one dispatcher.', {
    unit: 'none',
    series: { projector: 'sum(reeltally_projector_leading)', dispatcher: 'sum(reeltally_dispatcher_leading)' },
  }),
  plot('Rows not believed in ten minutes', 'By table.', {
    unit: 'none',
    series: { '{{table}}': 'sum by (table) (increase(reeltally_rows_not_believed_total[10m]))' },
  }),
  plot('Foreign events', 'Events of others in the same log, per second.', {
    unit: 'ops',
    series: { skipped: 'sum(rate(reeltally_foreign_events_skipped_total[$__rate_interval]))' },
  }),
]);
