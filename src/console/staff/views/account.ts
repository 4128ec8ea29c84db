import { z } from 'zod';
import { listKeysWithUse } from '../../../../projections/admission/key-use.ts';
import { type MoneyCounts, moneyCounts } from '../../../../projections/period-money.ts';
import { type AccountPeriod, pageAccountPeriods, usageOfRow } from '../../../../projections/queries/account-periods.ts';
import { type AccountRecord, readAccountRecord } from '../../../../projections/queries/account-record.ts';
import { readAccount } from '../../../commands/accounts.ts';
import { accountIdPattern } from '../../../domain/account-events.ts';
import { billingDetails } from '../../../domain/billing-details.ts';
import { correctionStatuses } from '../../../domain/correction-requests.ts';
import { documentNumber } from '../../../domain/document-number.ts';
import { jobStatuses } from '../../../domain/download-job.ts';
import { failureReasonNames } from '../../../domain/failure-reasons.ts';
import { keyLimit, noUse } from '../../../domain/key-limits.ts';
import { eventMetadata } from '../../../domain/parse-event.ts';
import { terms } from '../../../domain/plans.ts';
import { keyUseAt, termsAt } from '../../../domain/usage-periods.ts';
import type { UsagePeriod } from '../../../domain/usage-state.ts';
import { comingChange, summariseUsage } from '../../../domain/usage-summary.ts';
import { missing } from '../../visit.ts';
import { type JsonView, listOf, pick } from '../view.ts';

const instant = z.iso.datetime();
const pool = z.strictObject({ limit: z.int(), used: z.int(), remaining: z.int() });

const money = Object.fromEntries(moneyCounts.map((name) => [name, z.int()])) as Record<keyof MoneyCounts, z.ZodInt>;

const download = {
  token: z.string(),
  queued_at: instant,
  platform: z.string(),
  video_id: z.string(),
  title: z.string().nullable(),
  status: z.enum(jobStatuses),
  failure_reason: z.enum(failureReasonNames).nullable(),
  overage: z.boolean(),
  cents: z.int().nullable(),
};

const correction = {
  correction_id: z.uuid(),
  status: z.enum(correctionStatuses),
  reference: z.string(),
  cents: z.int().describe('The most that it may give back.'),
  made_cents: z.int().nullable(),
  asked_at: instant,
  asked_by: eventMetadata.shape.actor,
};

const shown = z.strictObject({
  account_id: z.string(),
  opened_at: instant,
  people: z.array(
    z.strictObject({ person_id: z.string(), email: z.string().nullable(), since: instant, removed: z.boolean() }),
  ),
  billing: billingDetails,
  suspended: z.boolean().describe('Its keys are refused, and nothing is charged.'),
  closing_requested_at: instant.nullable().describe('When somebody of the account has asked for its closing.'),
  closed: z.boolean(),
  terms: terms.nullable().describe('In force now; null while the read model has no period of the account.'),
  coming: z
    .strictObject({ from: instant, terms })
    .nullable()
    .describe('Terms that are due with the next billing period; null if there are none.'),
  usage: z
    .strictObject({
      period_start: instant,
      period_end: instant,
      downloads: pool,
      metadata: pool,
      overage_downloads: z.int(),
      overage_cents: z.int(),
    })
    .nullable()
    .describe('The current billing period, as the read model has it.'),
  terms_history: listOf(
    'The terms of each period in which they were others than before, as they were at its end; the newest first.',
    { from: instant.describe('Start of the billing period.'), terms },
  ),
  periods: listOf('The newest 24.', {
    period_start: instant,
    stream: z.string(),
    plan: z.string(),
    phase: z.string(),
    ...money,
    difference_cents: z.int().describe('Overage that no invoice carries.'),
  }),
  keys: z.array(
    z.strictObject({
      key_id: z.string(),
      key_prefix: z.string(),
      label: z.string(),
      created_at: instant,
      revoked_at: instant.nullable(),
      last_used_at: instant.nullable(),
      used_in_past_hour: z.int().describe('Of `hourly_limit` of the terms.'),
      limit: keyLimit.nullable().describe('What the owner allows the key in a billing period.'),
      used_of_limit: z.strictObject({ downloads: z.int(), overage_cents: z.int() }).nullable(),
    }),
  ),
  downloads: listOf('The newest 10.', download),
  documents: listOf('Invoices and credit notes: the newest 60.', {
    type: z.enum(['InvoiceIssued', 'CreditNoteIssued']),
    number: z.int(),
    document_number: z.string(),
    event_id: z.uuid(),
    time: instant,
    total_cents: z.int(),
    period_start: instant.nullable().describe('Of an invoice.'),
    invoice_number: z.int().nullable().describe('Of a credit note.'),
    reference: z.string().nullable(),
    actor: eventMetadata.shape.actor,
  }),
  corrections: listOf('The newest 10.', correction),
  notices: listOf('Warnings, reached caps and mailed documents: the newest 10.', {
    kind: z.enum(['usage_warning', 'overage_cap', 'document']),
    event_id: z.uuid(),
    time: instant,
    pool: z.string().nullable(),
    threshold_percent: z.int().nullable(),
    limited_key_id: z.string().nullable().describe("The key whose limit a warning is about; null: the account's own."),
    document: z
      .strictObject({ type: z.enum(['InvoiceIssued', 'CreditNoteIssued']), number: z.int() })
      .nullable()
      .describe('What the mails are about; null for a warning, and for mails that staff have asked for again.'),
    waiting: z.int().describe('Mails that are not recorded yet.'),
  }),
  looks: listOf('Who of staff has looked at personal data of the account: the newest 10.', {
    event_id: z.uuid(),
    staff_id: z.string(),
    token: z.string().nullable(),
    page: z.string(),
    time: instant,
  }),
});
export type AccountShown = z.infer<typeof shown>;

const input = z.object({
  account: z.string().regex(accountIdPattern, 'is not the id of an account').describe('Id of the account.'),
});

const shownPeriods = 24;

export const account: JsonView<z.infer<typeof input>, AccountShown> = {
  operationId: 'getAccount',
  summary: 'An account: terms, usage, money, keys, people, and what is new',
  input,
  shown,
  read: async ({ pool: client, macs, store, now }, { account: accountId }) => {
    const known = await readAccount(store, accountId);
    if (!known.opened) throw missing();
    const periods = await pageAccountPeriods(client, { accountId, macs, limit: shownPeriods });
    const keys = await listKeysWithUse(client, { accountId, macs });
    const record = await readAccountRecord(client, accountId);
    const newest = usageOfRow(periods[0]);
    return {
      account_id: accountId,
      // With its first person.
      opened_at: [...known.people.values()][0]?.since ?? '',
      billing: known.billing,
      suspended: newest?.terms.suspended === true,
      closing_requested_at: known.closingRequestedAt,
      closed: known.closed,
      people: [...known.people.values()].map(({ personId, email, since, removed }) => ({
        person_id: personId,
        email,
        since,
        removed,
      })),
      ...usageOf(newest, now()),
      terms_history: historyOf(periods),
      keys: keys.map(({ account_id: _account, ...key }) => ({ ...key, ...limitOf(key.key_id, newest, now()) })),
      ...listsOf(accountId, record),
    };
  },
  accessRecords: ({ account_id: accountId }) => [{ accountId, token: null, page: 'account' }],
};

function limitOf(
  keyId: string,
  usage: UsagePeriod | undefined,
  now: string,
): Pick<AccountShown['keys'][number], 'limit' | 'used_of_limit'> {
  if (!usage) return { limit: null, used_of_limit: null };
  const limit = usage.terms.key_limits?.[keyId] ?? null;
  return { limit, used_of_limit: limit && (keyUseAt(usage, now)[keyId] ?? noUse) };
}

function usageOf(usage: UsagePeriod | undefined, now: string): Pick<AccountShown, 'terms' | 'coming' | 'usage'> {
  if (!usage) return { terms: null, coming: null, usage: null };
  const { period, downloads, metadata, overage } = summariseUsage(usage, now);
  return {
    terms: termsAt(usage, now),
    coming: comingChange(usage, now),
    usage: {
      period_start: period.start,
      period_end: period.end,
      downloads,
      metadata,
      overage_downloads: overage.downloads,
      overage_cents: overage.cents,
    },
  };
}

function historyOf(periods: readonly AccountPeriod[]): AccountShown['terms_history'] {
  const each = periods.flatMap((period) => {
    const usage = usageOfRow(period);
    return usage ? [{ from: period.start, terms: usage.terms }] : [];
  });
  return each.filter(({ terms: own }, index) => JSON.stringify(own) !== JSON.stringify(each[index + 1]?.terms));
}

function listsOf(
  accountId: string,
  { periods, downloads, documents, corrections, notices, access_records }: AccountRecord,
) {
  return {
    periods,
    notices,
    downloads: downloads.map((row) => pick(row, download)),
    documents: documents.map(({ covers: _covers, ...each }) => ({
      ...each,
      document_number: documentNumber(each.type === 'InvoiceIssued' ? 'invoice' : 'credit_note', {
        account_id: accountId,
        number: each.number,
      }),
    })),
    corrections: corrections.map((row) => pick(row, correction)),
    looks: access_records,
  };
}
