import {
  decideInvoices,
  evolveInvoices,
  initialInvoices,
  type InvoiceDraft,
  type Invoices,
} from '../domain/invoice.ts';
import { type InvoiceEvent, type InvoiceIssued, invoicesStream } from '../domain/invoice-events.ts';
import { openingInvoice, periodInvoice } from '../domain/invoice-lines.ts';
import { type Actor, type ParsedEvent, parseInvoiceEvent, parseUsageEvent } from '../domain/parse-event.ts';
import { isRefused } from '../domain/refusals.ts';
import type { UsageEvent, UsageEventOf } from '../domain/usage-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import { mailRecipients } from './handler/account-aggregate.ts';
import type { CommandDependencies } from './handler/dependencies.ts';
import { type Aggregate, handle } from './handler/handle-command.ts';

export interface InvoiceRequest {
  actor: Actor;
  /** The request or command that led here; default: this command. */
  correlationId?: string;
  /** False: nobody is mailed about it, as in a history that is told afterwards. Default: all people of the account. */
  mails?: boolean;
  timeoutMs: number;
}

/**
 * Issues the invoice of a usage stream: of the first fee, or of a closed period. Repeated by any process, the command issues
 * nothing more.
 *
 * @param stream of the account's first period for `opening`, of a closed one for `period`
 * @returns the invoice, if this command has issued it
 * @throws {NotStored} {OutcomeUnknown} {EventStoreUnavailable}; then the command may be repeated
 */
export async function issueInvoice(
  { store, now, newUuid }: CommandDependencies,
  { stream, covers, ...request }: InvoiceRequest & { stream: string; covers: InvoiceIssued['covers'] },
): Promise<InvoiceIssued | undefined> {
  const { draft, causationId } = await draftOf(store, stream, covers);
  const commandId = newUuid();
  const { actor, correlationId = commandId, mails = true, timeoutMs } = request;
  const mailTo = mails ? await mailRecipients(store, draft.account_id) : [];
  const handled = await handle(store, accountInvoices(draft.account_id), {
    decide: (state) => decideInvoices(state, { kind: 'issue_invoice', draft, mailTo }),
    cause: { commandId, correlationId, causationId, actor },
    now,
    timeoutMs,
  });
  if (isRefused(handled)) throw new Error(`an invoice of ${stream} was refused: ${handled.refusal}`);
  return handled.events.find(({ type }) => type === 'InvoiceIssued')?.data as InvoiceIssued | undefined;
}

/** The invoice to issue, from the log alone, and the event that it is due to. */
async function draftOf(
  store: EventStore,
  stream: string,
  covers: InvoiceIssued['covers'],
): Promise<{ draft: InvoiceDraft; causationId: string }> {
  const events = await readInvoiced(store, stream, covers === 'opening' ? 1 : Infinity);
  const [first] = events;
  if (first?.event.type !== 'UsagePeriodOpened') throw new Error(`${stream} does not exist`);
  if (covers === 'period') {
    const closed = events.find(({ event }) => event.type === 'UsagePeriodClosed');
    return { draft: periodInvoice(events), causationId: closed?.id ?? first.id };
  }
  if (first.event.data.previous_period_start !== null) throw new Error(`${stream} is not the account's first period`);
  return {
    draft: openingInvoice(first as ParsedEvent<UsageEventOf<'UsagePeriodOpened'>>),
    causationId: first.id,
  };
}

const pageEvents = 5_000;
/** The events that an invoice ignores, which are most events of a stream. */
const passedOver = ['DownloadQueued', 'DownloadCreditDebited', 'MetadataCreditDebited', 'DownloadConfirmed'];

/** The events that an invoice is made of, read page by page because a period may have very many. */
async function readInvoiced(store: EventStore, stream: string, maxCount: number): Promise<ParsedEvent<UsageEvent>[]> {
  const kept: ParsedEvent<UsageEvent>[] = [];
  for (let from = 0; from < maxCount; from += pageEvents) {
    const page = (await store.read(stream, from, Math.min(pageEvents, maxCount))).map(parseUsageEvent);
    kept.push(...page.filter(({ event }) => !passedOver.includes(event.type)));
    if (page.length < pageEvents) break;
  }
  return kept;
}

export const accountInvoices = (accountId: string): Aggregate<Invoices, InvoiceEvent> => ({
  stream: invoicesStream(accountId),
  initial: () => initialInvoices,
  parse: parseInvoiceEvent,
  evolve: evolveInvoices,
});
