import { z } from 'zod';
import { type JobRow, readJob } from '../../../../projections/jobs.ts';
import { readCharges } from '../../../commands/change-charge.ts';
import { readChargeCredit } from '../../../commands/issue-credit-note.ts';
import { type Html, html } from '../../../documents/html.ts';
import { isRefused } from '../../../domain/refusals.ts';
import type { EventStore } from '../../../ports/event-store.ts';
import { facts, money, note, time } from '../../parts.ts';
import { missing, type StaffVisit } from '../../visit.ts';
import { accountLink, downloadPath, eventPath, invoicePath } from '../addresses.ts';
import { askAction, correctionForm } from '../ask-correction.ts';
import type { StaffDependencies } from '../dependencies.ts';
import { type View, viewPage } from '../view.ts';

/** Gives back the charge of one download, or a part of it. */

const whyNot = {
  credit: 'This download took a credit of the plan. Nothing can be given back in money.',
  voided: 'The charge was voided: all of it is given back.',
  given_back: 'All of it is given back.',
  not_invoiced:
    'The books of the period are closed, and its invoice is not issued yet. Come back in a minute to credit the invoice.',
} as const;

/** A waiver gives it back as long as the books of its period are open, then a credit note of a line; null: nothing does. */
type Way =
  | { by: 'waiver' }
  | { by: 'credit_note'; invoice_number: number; line: number }
  | { by: null; why: keyof typeof whyNot };

type ChargeLeft = Awaited<ReturnType<typeof readLeft>>;

/** The charge of a download, and what is left of it: from the log, because money is given back of it. */
const chargeLeft: View<{ token: string }, ChargeLeft> = {
  input: z.object({ token: z.string().max(100) }),
  read: async ({ pool, store }, { token }) => {
    const job = await readJob(pool, token);
    if (!job) throw missing();
    return await readLeft(store, job);
  },
  accessRecords: ({ account_id: accountId, job: { token } }) => [{ accountId, token, page: 'download' }],
};

async function readLeft(store: EventStore, job: JobRow) {
  const { token, account_id: accountId, usage_stream: stream } = job;
  // Right before its DownloadQueued.
  const revision = job.usage_revision - 1;
  const { charges, closed } = await readCharges(store, stream, revision);
  const found = charges.get(token);
  const by = (way: Way, left = found?.cents ?? 0) => ({
    account_id: accountId,
    job,
    /** Of the charge in its usage stream. */
    revision,
    charge_event_id: found?.eventId ?? null,
    /** 0 for a credit of the plan. */
    charged_cents: job.cents ?? found?.cents ?? 0,
    /** What may still be given back. */
    left_cents: left,
    way,
  });
  if (found?.type !== 'OverageCharged') return by({ by: null, why: 'credit' });
  if (found.voided) return by({ by: null, why: 'voided' });
  if (found.cents === 0) return by({ by: null, why: 'given_back' });
  if (!closed) return by({ by: 'waiver' });
  const credit = await readChargeCredit(store, { accountId, stream, chargeEventId: found.eventId });
  if (isRefused(credit)) return by({ by: null, why: 'not_invoiced' });
  const { invoiceNumber: invoice_number, line, cents } = credit;
  return cents <= 0 ? by({ by: null, why: 'given_back' }, 0) : by({ by: 'credit_note', invoice_number, line }, cents);
}

export const show = viewPage(chargeLeft, { title: 'Give back', content });

export const ask = askAction(chargeLeft, ({ way, job, revision, charge_event_id }) => {
  if (way.by === 'waiver') return { kind: 'waive_charge', stream: job.usage_stream, token: job.token, revision };
  if (way.by === null) return undefined;
  return { kind: 'credit_line', invoice_number: way.invoice_number, line: way.line, charge_event_id };
});

function content(charge: ChargeLeft, visit: StaffVisit, dependencies: StaffDependencies): Html {
  const { job, charge_event_id: eventId, left_cents: left, charged_cents: charged, way } = charge;
  const path = downloadPath(job.token);
  const givenBack = charged - left;
  return html`${facts([
    [
      'Download',
      html`<a href="${path}"><code>${job.token}</code></a
        >, ${job.platform}, queued ${time(job.queued_at)}`,
    ],
    ['Account', accountLink(charge.account_id)],
    [
      'Charged',
      html`${charged > 0 ? money(charged) : 'a credit of the plan'}${
        eventId !== null && html`, event <a href="${eventPath(eventId)}"><code>${eventId}</code></a>`
      }`,
    ],
    givenBack > 0 && ['Given back so far', money(givenBack)],
    ['Left', html`<strong>${money(left)}</strong>`],
  ])}
  ${note('info', wayText(charge))}
  ${way.by !== null && correctionForm(visit, dependencies, { action: `${path}/correct`, cents: left, deed: 'give it back' })}`;
}

function wayText({ way, account_id: accountId }: ChargeLeft): Html | string {
  if (way.by === null) return whyNot[way.why];
  if (way.by === 'waiver') return 'The books of its period are open: it is waived, and never stands on an invoice.';
  return html`The books of its period are closed: a credit note gives it back, of line ${way.line} of
    <a href="${invoicePath(accountId, way.invoice_number)}">invoice ${way.invoice_number}</a>.`;
}
