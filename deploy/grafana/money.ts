import { dashboard, plot, stat } from './panel.ts';

export const money = dashboard('money', 'money', [
  stat('Divergences', 'Open divergences of log, ledger and invoices. Anything but 0 pages.', {
    unit: 'none',
    expr: 'max(reeltally_audit_divergences)',
    bad: 1,
  }),
  stat('Audit behind', 'Time since the audit last reached the end of the log.', {
    unit: 's',
    expr: 'min(reeltally_audit_behind_seconds)',
    warn: 3600,
    bad: 86400,
  }),
  stat('Unknown outcomes open', 'Clients were told that nothing is charged, and the log has not confirmed it yet.', {
    unit: 'none',
    expr: 'max(reeltally_unknown_outcomes_open)',
    warn: 1,
    bad: 10,
  }),
  stat('Invoices due', 'Invoices that are due and not issued.', {
    unit: 'none',
    expr: 'max(reeltally_invoices_due)',
    warn: 1,
    bad: 10,
  }),
  plot('Downloads charged', 'Accepted downloads per minute: a credit of the allowance, or the overage price.', {
    unit: 'cpm',
    series: {
      '{{type}}':
        '60 * sum by (type) (rate(reeltally_events_stored_total{type=~"DownloadCreditDebited|OverageCharged"}[$__rate_interval]))',
    },
    isStacked: true,
  }),
  plot(
    'Overage in an hour',
    'Charged, and given back before the books were closed, over the hour before each point. The ledger has the exact sums.',
    {
      unit: 'currencyUSD',
      series: { '{{kind}}': 'sum by (kind) (increase(reeltally_overage_cents_total[1h])) / 100' },
    },
  ),
  plot('Given back in an hour', 'Corrections of charges, by their event, over the hour before each point.', {
    unit: 'none',
    series: {
      '{{type}}':
        'sum by (type) (increase(reeltally_events_stored_total{type=~"DownloadVoided|MetadataCreditVoided|ChargeWaived|DownloadCreditReturned|CreditNoteIssued"}[1h]))',
    },
    isStacked: true,
  }),
  plot('Limits reached in an hour', 'Warnings of pools and caps that were reached, over the hour before each point.', {
    unit: 'none',
    series: {
      '{{type}}':
        'sum by (type) (increase(reeltally_events_stored_total{type=~"UsageWarningReached|OverageCapReached"}[1h]))',
    },
  }),
  plot(
    'Books and invoices in an hour',
    'Periods closed, invoices and credit notes issued, over the hour before each point.',
    {
      unit: 'none',
      series: {
        '{{type}}':
          'sum by (type) (increase(reeltally_events_stored_total{type=~"UsagePeriodClosed|InvoiceIssued|CreditNoteIssued"}[1h]))',
      },
    },
  ),
  plot('Periods not closed', 'Billing periods that are over, those within their grace included.', {
    unit: 'none',
    series: { periods: 'max(reeltally_periods_not_closed)' },
  }),
  plot('Age of the oldest unknown outcome', 'It pages at two minutes.', {
    unit: 's',
    series: {
      'pending void': 'max(reeltally_oldest_unknown_outcome_seconds)',
      append: 'max(reeltally_oldest_open_append_seconds)',
    },
  }),
  plot(
    'Unknown outcomes resolved in an hour',
    'Charges of unknown outcome, by the outcome that they turned out to have.',
    {
      unit: 'none',
      series: { '{{became}}': 'sum by (became) (increase(reeltally_unknown_outcomes_resolved_total[1h]))' },
    },
  ),
  plot('Mails that wait', 'Warnings and documents that no mail server has accepted yet.', {
    unit: 'none',
    series: { '{{about}}': 'max by (about) (reeltally_mails_waiting)' },
  }),
  plot('Appends', 'Appends to the log per second, by outcome.', {
    unit: 'ops',
    series: { '{{outcome}}': 'sum by (outcome) (rate(reeltally_appends_total[$__rate_interval]))' },
  }),
  plot('Duration of appends', 'From the call of an append until its outcome is known.', {
    unit: 's',
    series: {
      median: 'histogram_quantile(0.5, sum by (le) (rate(reeltally_append_duration_seconds_bucket[$__rate_interval])))',
      '99 %':
        'histogram_quantile(0.99, sum by (le) (rate(reeltally_append_duration_seconds_bucket[$__rate_interval])))',
    },
  }),
  plot('Audited events', 'Events that the audit has verified since it last started over.', {
    unit: 'none',
    series: { events: 'max(reeltally_audit_events)' },
  }),
]);
