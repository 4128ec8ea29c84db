import { decideAccount, evolveAccount, initialAccount } from '../../src/domain/account.ts';
import { usageStream } from '../../src/domain/billing-period.ts';
import { type ChargeCommand, decideCharge, evolveCharges, newCharges } from '../../src/domain/change-charge.ts';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing-grace.ts';
import type { ChargesCorrection, Correction } from '../../src/domain/correction-events.ts';
import {
  type Asker,
  type CorrectionRequestCommand,
  type CorrectionRequests,
  decideCorrectionRequest,
  evolveCorrectionRequests,
  newCorrectionRequests,
  type Operator,
  type StaffActor,
} from '../../src/domain/correction-requests.ts';
import { decideUsage, type UsageCommand } from '../../src/domain/decide-usage.ts';
import {
  decideDocumentMail,
  decideMailsAgain,
  evolveDocumentMails,
  initialDocumentMails,
} from '../../src/domain/document-mails.ts';
import { decideJob, evolveJob, initialJob, type JobCommand } from '../../src/domain/download-job.ts';
import { defaultOptions } from '../../src/domain/download-options.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { decideInvoices, evolveInvoices, initialInvoices, type InvoiceCommand } from '../../src/domain/invoice.ts';
import { openingInvoice, periodInvoice } from '../../src/domain/invoice-lines.ts';
import { noLimit } from '../../src/domain/key-limits.ts';
import { decideMailRecord, evolveMailRecord, newMailRecord } from '../../src/domain/mail-record.ts';
import { type Actor, type DomainEvent, parseUsageEvent } from '../../src/domain/parse-event.ts';
import { listPeople, openerOf } from '../../src/domain/people.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { isRefused, type Refused } from '../../src/domain/refusals.ts';
import { decideStaff, evolveStaff, initialStaff, type StaffCommand } from '../../src/domain/staff.ts';
import type { StaffRole } from '../../src/domain/staff-events.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { endPeriod, openNextPeriod } from '../../src/domain/usage-periods.ts';
import { initialUsage, type UsagePeriod } from '../../src/domain/usage-state.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { signCheckpoint } from '../../src/proof/checkpoint.ts';
import { emptyFrontier, rootOfFrontier, withNextLeaf } from '../../src/proof/merkle-tree.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { plan, video } from '../domain/usage-examples.ts';
import { sum } from '../support/sum.ts';
import { ChainedLog } from './chained-log.ts';
import type { Random } from './random.ts';

const staff: Operator = { type: 'staff', id: 'maria', role: 'operator', reason: 'the file was broken' };
const system: Actor = { type: 'system', id: 'test' };

interface By {
  actor: Actor;
  causationId?: string | undefined;
}

type Unaddressed<Command> = Command extends unknown ? Omit<Command, 'mailTo'> : never;

/** A plan that a few requests use up. */
const small: PlanTerms = { ...plan, downloads_limit: 4, metadata_limit: 3, warning_percents: [80, 100] };

/**
 * The log of an account that has lived through everything there is: decided by the service's own rules, event by event, at
 * instants of its own. The same random numbers make the same events, their ids included.
 */
export class RichHistory {
  readonly accountId: string;
  readonly #log: ChainedLog;
  readonly #random: Random;
  #nowMs: number;
  #usage: UsagePeriod | undefined;
  /** The key of the account that makes its requests. */
  #client: Actor = system;
  #keys: string[] = [];

  constructor(store: Pick<EventStore, 'append'>, random: Random, openedAt: string) {
    this.#log = new ChainedLog(store, random);
    this.#random = random;
    this.#nowMs = Date.parse(openedAt);
    this.accountId = `acc_${random.hex(20)}`;
  }

  /** Billing periods that end, each closed and invoiced; the last one stays open, unless the account is closed with it. */
  async live(periods: number, requestsEach: number, { closes = false } = {}): Promise<void> {
    await this.#open();
    for (let period = 0; period < periods; period += 1) {
      const stream = this.#stream();
      await this.#use(requestsEach);
      // A period that begins suspended has no fee until that is lifted.
      if (period === 0) await this.#command({ kind: 'suspend_account' }, staff);
      await this.#download();
      await this.#rollOver();
      await this.#correct(stream, 3);
      // The last one is not closed yet.
      if (period === periods - 1) continue;
      // Longer than the grace.
      const waiting = await this.#askForCharges(stream);
      this.#nowMs += 3_600_000;
      const closed = decideClosing(this.#log.fold(stream, initialClosing, evolveClosing), 60, this.#now());
      await this.#store(stream, closed);
      await this.#mail(stream);
      await this.#invoice({ kind: 'issue_invoice', draft: periodInvoice(this.#log.read(stream).map(parseUsageEvent)) });
      // Asked before the close, and given back behind it.
      if (waiting !== undefined) await this.#give(waiting);
      await this.#creditNotes();
      if (this.#random.below(4) > 0) await this.#mailDocuments();
    }
    await this.#use(requestsEach);
    await this.#askMails();
    if (closes) await this.#close();
  }

  async #close(): Promise<void> {
    const { accountId } = this;
    await this.#account({ kind: 'request_closing', accountId }, this.#opener());
    await this.#command({ kind: 'close_account' }, staff);
    await this.#account({ kind: 'close_account', accountId });
  }

  #opener(): Actor {
    return { type: 'owner', id: openerOf(this.accountId) };
  }

  async #open(): Promise<void> {
    const { accountId } = this;
    const cap = this.#random.pick([null, 60, 200]);
    const terms = { ...small, overage_cents: this.#random.pick([25, 25, 25, null]) };
    await this.#account({ kind: 'open_account', accountId, email: 'owner@example.com', terms });
    const { opened } = this.#log.fold(`account-${accountId}`, initialAccount, evolveAccount);
    if (!opened) throw new Error('the account was not opened');
    const { anchor_day, period_start, period_end } = opened;
    const data = { account_id: accountId, anchor_day, period_start, period_end, previous_period_start: null };
    const first: DomainEvent = {
      type: 'UsagePeriodOpened',
      data: { ...data, terms: { ...terms, overage_cap_cents: null } },
    };
    const guest = `per_${this.#random.hex(20)}`;
    await this.#account({ kind: 'invite_person', accountId, personId: guest, email: 'guest@example.com' });
    const stream = usageStream(accountId, { start: period_start });
    await this.#append(stream, [first]);
    this.#usage = evolveUsage(initialUsage, first) as UsagePeriod;
    const [recorded] = this.#log.read(stream).map(parseUsageEvent);
    await this.#invoice({
      kind: 'issue_invoice',
      draft: openingInvoice(recorded as Parameters<typeof openingInvoice>[0]),
    });
    await this.#account({ kind: 'remove_person', accountId, personId: guest });
    await this.#mailDocuments();
    const keys = [this.#random.hex(20), this.#random.hex(20)].map((id) => `key_${id}`);
    for (const keyId of keys) {
      const [keyHash, keyPrefix] = [this.#random.hex(64), 'rtk_test'];
      await this.#account({ kind: 'issue_key', accountId, keyId, keyHash, keyPrefix, label: 'a key', maxKeys: 2 });
    }
    await this.#account({ kind: 'revoke_key', accountId, keyId: keys[0] ?? '' });
    const personId = `per_${this.#random.hex(20)}`;
    await this.#account({ kind: 'invite_person', accountId, personId, email: 'ada@example.com' });
    await this.#account({ kind: 'remove_person', accountId, personId });
    const details = { name: 'Ada Lovelace', address_lines: ['12 St James’s Square'], country: 'GB' };
    await this.#account({ kind: 'change_billing_details', accountId, details }, this.#opener());
    this.#client = { type: 'api_key', id: keys[1] ?? '' };
    if (cap !== null) await this.#command({ kind: 'set_overage_cap', overageCapCents: cap, effective: 'now' });
  }

  async #use(requests: number): Promise<void> {
    const stream = this.#stream();
    await this.#command({ kind: 'lift_suspension' }, staff);
    for (let request = 0; request < requests; request += 1) {
      this.#nowMs += this.#random.below(60_000);
      const what = this.#random.below(20);
      if (what < 11) await this.#download();
      else if (what < 14)
        await this.#command({ kind: 'debit_metadata', lookupId: this.#random.uuid(), video, downloadRefusal: null });
      else if (what < 16) await this.#changeTerms();
      else if (what < 18) await this.#correct(stream, 1);
      else await this.#mail(stream);
    }
  }

  async #download(): Promise<void> {
    const { accountId } = this;
    const token = this.#random.hex(24);
    const keyHash = this.#random.below(3) === 0 ? this.#random.hex(64) : this.#keys.pop();
    const idempotency = keyHash === undefined ? undefined : { keyHash, fingerprint: this.#random.hex(64) };
    const asked = { token, video, ...defaultOptions, idempotency };
    const events = await this.#command({ kind: 'queue_download', ...asked });
    if (events === 0) return;
    const usageStream = this.#stream();
    const queued = this.#log.queued(usageStream, token);
    const workerId = `wrk_${this.#random.hex(20)}`;
    const claim: JobCommand = {
      kind: 'claim',
      token,
      workerId,
      accountId,
      usageStream,
      usageRevision: queued?.revision ?? 0,
    };
    const fate = this.#random.below(9);
    if (fate === 0) return;
    if (fate === 8) return this.#failByOurFault(claim);
    await this.#job(claim);
    if (fate === 1) return;
    await this.#job({ kind: 'start', token, claim: { workerId, revision: 0 } });
    if (fate === 2) return;
    if (fate < 5) {
      const kinds = [
        { kind: 'shut_down' },
        { kind: 'expire_lease' },
        { kind: 'give_up', reason: 'timed_out', fault: 'video' },
      ] as const;
      await this.#job({ ...this.#random.pick(kinds), token, claim: { workerId, revision: 0 } });
      // Longer than any pause before another attempt.
      this.#nowMs += 10_000;
      await this.#job(claim);
    }
    const [revision, sha256] = [fate < 5 ? 3 : 0, 'b'.repeat(64)];
    const media = { name: 'media.mp4', mime: 'video/mp4', sizeBytes: 1234, sha256, durationSeconds: 9.5 };
    const file = { ...media, title: 'A film' };
    if (fate < 7) await this.#job({ kind: 'complete', token, claim: { workerId, revision }, file });
    if (fate === 6) await this.#job({ kind: 'expire_file', token, completedUntil: this.#now() });
    const failed = { kind: 'give_up', token, reason: 'private_video', fault: 'video' } as const;
    if (fate === 7) await this.#job({ ...failed, claim: { workerId, revision } });
  }

  /** All its attempts fail by the service's fault, and what was taken for it is given back. */
  async #failByOurFault(claim: Extract<JobCommand, { kind: 'claim' }>): Promise<void> {
    const { token, workerId, usageStream: stream } = claim;
    for (const revision of [0, 2, 4]) {
      await this.#job(claim);
      const failed = { kind: 'give_up', token, reason: 'internal_error', fault: 'service' } as const;
      await this.#job({ ...failed, claim: { workerId, revision } });
      this.#nowMs += 60_000;
    }
    const causationId = this.#log.read(`job-${token}`).at(-1)?.id;
    const command = { kind: 'return_service_failure', token, reference: `service-failure-${token}` } as const;
    await this.#correctCharge(stream, command, { actor: { type: 'system', id: 'service-failures' }, causationId });
  }

  async #changeTerms(): Promise<void> {
    const effective = this.#random.pick(['now', 'next_period'] as const);
    const more = 1 + this.#random.below(4);
    const keyId = this.#client.id;
    const until = this.#random.pick([null, new Date(this.#nowMs + 3_600_000).toISOString()]);
    const larger = {
      ...small,
      plan: 'studio_500',
      fee_cents: 1000 * more,
      downloads_limit: 2 * more,
      rate_version: 'other',
    };
    await this.#command(
      this.#random.pick<UsageCommand>([
        { kind: 'change_plan', terms: { ...larger, overage_cents: 10 * more }, effective },
        { kind: 'set_overage_cap', overageCapCents: 40 * more, effective },
        { kind: 'remove_overage_cap', effective },
        { kind: 'change_key_limit', keyId, changes: { ...noLimit, downloads: more } },
        { kind: 'change_key_limit', keyId, changes: { ...noLimit, overage_cents: 40 * more, until } },
        { kind: 'change_key_limit', keyId, changes: noLimit },
      ]),
      this.#opener(),
    );
  }

  /** Voids, confirmations and waivers, as far as the rules let them. */
  async #correct(stream: string, times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const charges = [...this.#log.fold(stream, newCharges(), evolveCharges).charges];
      if (charges.length === 0) return;
      const [name, { type }] = this.#random.pick(charges);
      const token = name;
      const commands: (() => Promise<void>)[] =
        type === 'MetadataCreditDebited'
          ? [() => this.#correctCharge(stream, { kind: 'void_lookup', lookupId: name })]
          : [
              () => this.#correctCharge(stream, { kind: 'confirm_download', token }),
              () => this.#correctCharge(stream, { kind: 'void_download', token }),
              () => this.#waive(stream, token, 1 + this.#random.below(10)),
              () => this.#waive(stream, token),
            ];
      await this.#random.pick(commands)();
    }
  }

  /** By the operator. @param cents default: all that is left */
  async #waive(stream: string, token: string, cents?: number): Promise<void> {
    const charge = this.#chargesOf(stream).find((each) => each.token === token);
    if (charge) await this.#give(await this.#askFor(staff, stream, [{ ...charge, cents: cents ?? charge.cents }]));
  }

  /** The operator asks for a part of two charges. @returns the id of the request; undefined if there are no two */
  async #askForCharges(stream: string): Promise<string | undefined> {
    const [one, two] = this.#chargesOf(stream);
    if (!one || !two) return undefined;
    return await this.#askFor(staff, stream, [
      { ...one, cents: 1 },
      { ...two, cents: 2 },
    ]);
  }

  /** Charges of a period that have something left. */
  #chargesOf(stream: string): { token: string; revision: number; cents: number }[] {
    return [...this.#log.fold(stream, newCharges(), evolveCharges).charges].flatMap(([token, { revision, cents }]) =>
      cents > 0 ? [{ token, revision, cents }] : [],
    );
  }

  #askFor(by: Asker, stream: string, charges: ChargesCorrection['charges']): Promise<string> {
    return this.#ask(by, { kind: 'charges', stream, charges }, sum(charges.map(({ cents }) => cents)));
  }

  async #mail(stream: string): Promise<void> {
    for (const [eventId] of this.#log.fold(stream, newMailRecord(), evolveMailRecord).notices) {
      const messageId = `<${this.#random.hex(8)}@example.com>`;
      const record = this.#log.fold(stream, newMailRecord(), evolveMailRecord);
      await this.#store(stream, decideMailRecord(record, { eventIds: [eventId], messageId }));
    }
  }

  async #rollOver(): Promise<void> {
    if (!this.#usage) throw new Error('no period is open');
    this.#nowMs = Date.parse(this.#usage.period.end) + this.#random.below(86_400_000);
    const stream = this.#stream();
    const ended = endPeriod(this.#usage);
    await this.#append(stream, [ended]);
    const next = openNextPeriod(evolveUsage(this.#usage, ended) as UsagePeriod);
    this.#usage = evolveUsage(initialUsage, next) as UsagePeriod;
    await this.#append(this.#stream(), [next]);
  }

  async #creditNotes(): Promise<void> {
    const stream = `invoices-${this.accountId}`;
    const { invoices } = this.#log.fold(stream, initialInvoices, evolveInvoices);
    const invoice = invoices.at(-1);
    if (!invoice) return;
    await this.#give(await this.#ask(staff, { kind: 'credit_line', invoice_number: invoice.number, line: 1 }, 1));
    const overage = invoice.lines.find((line) => line.kind === 'overage');
    if (overage?.kind !== 'overage') return;
    const [charge] = this.#chargesOf(overage.stream);
    if (charge) await this.#give(await this.#askFor(staff, overage.stream, [{ ...charge, cents: 2 }]));
  }

  async #command(command: UsageCommand, actor: Actor = this.#client): Promise<number> {
    if (!this.#usage) throw new Error('no period is open');
    const key = actor.type === 'api_key' ? { id: actor.id, at: this.#now() } : undefined;
    const decided = decideUsage(this.#usage, command, { key, isByOwner: actor.type === 'owner' });
    if (isRefused(decided)) return 0;
    for (const event of decided) this.#usage = evolveUsage(this.#usage, event) as UsagePeriod;
    await this.#append(this.#stream(), decided, { actor });
    return decided.length;
  }

  async #correctCharge(stream: string, command: ChargeCommand, by: By = { actor: system }): Promise<void> {
    const state = this.#log.fold(stream, newCharges(), evolveCharges);
    const stored = await this.#store(stream, decideCharge(state, command), by);
    if (command.kind !== 'void_download' || stored === 0) return;
    const job = this.#log.fold(`job-${command.token}`, initialJob, evolveJob);
    const isFinished = job.status === 'done' || job.status === 'failed';
    const voided: DomainEvent = { type: 'JobFailed', data: { token: command.token, reason: 'voided', fault: 'video' } };
    if (!isFinished) await this.#append(`job-${command.token}`, [voided]);
    const queued = this.#log.queued(stream, command.token);
    const { idempotency } = (queued?.data ?? {}) as { idempotency?: { key_hash: string } | null };
    if (idempotency) this.#keys.push(idempotency.key_hash);
  }

  /** @returns how many events were stored */
  async #store(stream: string, decided: UsageEvent[] | Refused, by: By = { actor: system }): Promise<number> {
    if (isRefused(decided)) return 0;
    if (stream === this.#stream() && this.#usage)
      for (const event of decided) this.#usage = evolveUsage(this.#usage, event) as UsagePeriod;
    await this.#append(stream, decided, by);
    return decided.length;
  }

  async #job(command: JobCommand): Promise<void> {
    const decided = decideJob(this.#log.fold(`job-${command.token}`, initialJob, evolveJob), command, this.#now());
    if (isRefused(decided)) throw new Error(`${command.kind} was refused: ${decided.refusal}`);
    await this.#append(`job-${command.token}`, decided);
  }

  async #account(command: Parameters<typeof decideAccount>[1], actor: Actor = system): Promise<void> {
    const stream = `account-${this.accountId}`;
    const decided = decideAccount(this.#log.fold(stream, initialAccount, evolveAccount), command, this.#now());
    if (isRefused(decided)) throw new Error(`${command.kind} was refused: ${decided.refusal}`);
    await this.#append(stream, decided, { actor });
  }

  async #invoice(command: Unaddressed<InvoiceCommand>, by: By = { actor: system }): Promise<void> {
    const stream = `invoices-${this.accountId}`;
    const { people } = this.#log.fold(`account-${this.accountId}`, initialAccount, evolveAccount);
    const mailTo = listPeople(people).map(({ personId }) => personId);
    const state = this.#log.fold(stream, initialInvoices, evolveInvoices);
    const decided = decideInvoices(state, { ...command, mailTo });
    if (isRefused(decided)) return;
    await this.#append(stream, decided, by);
  }

  /** To everybody who waits for one; nothing is sent to those who were removed. */
  async #mailDocuments(): Promise<void> {
    const stream = `invoices-${this.accountId}`;
    const { people } = this.#log.fold(`account-${this.accountId}`, initialAccount, evolveAccount);
    for (const [namingId, { waiting }] of this.#log.fold(stream, initialDocumentMails, evolveDocumentMails)) {
      for (const personId of waiting) {
        const messageId = people.get(personId)?.removed === true ? null : `<${this.#random.hex(8)}@example.com>`;
        const mail = { accountId: this.accountId, namingId, personId, messageId };
        const decided = decideDocumentMail(this.#log.fold(stream, initialDocumentMails, evolveDocumentMails), mail);
        if (!isRefused(decided)) await this.#append(stream, decided);
      }
    }
  }

  /** Staff ask for the mails about the first invoice again; the last one of them still waits. */
  async #askMails(): Promise<void> {
    const { accountId } = this;
    const stream = `invoices-${accountId}`;
    const now = new Date(this.#nowMs).toISOString();
    const { people } = this.#log.fold(`account-${accountId}`, initialAccount, evolveAccount);
    const mails = () => this.#log.fold(stream, initialDocumentMails, evolveDocumentMails);
    const [[documentId, { waiting }] = ['', { waiting: [] as readonly string[] }]] = mails();
    const mailTo = listPeople(people).flatMap(({ personId }) => (waiting.includes(personId) ? [] : personId));
    const asked = decideMailsAgain(mails(), { accountId, documentId, mailTo, eventId: '', people });
    if (isRefused(asked)) return;
    await this.#log.append(stream, asked, { actor: staff, commandId: documentId, now });
    const [namingId = ''] = [...mails().keys()].slice(-1);
    for (const personId of mailTo.slice(0, -1)) {
      const sent = decideDocumentMail(mails(), {
        accountId,
        namingId,
        personId,
        messageId: `<${personId}@example.com>`,
      });
      if (!isRefused(sent)) await this.#log.append(stream, sent, { actor: system, commandId: namingId, now });
    }
  }

  /** Somebody has examined what the audit found. */
  async acknowledge(): Promise<void> {
    const found = { rule: 'row_differs', stream: 'jobs', revision: 0, field: 'jobs.url', expected: 'a', found: 'b' };
    const data = { ...found, account_id: this.accountId, reference: 'drill-1' };
    await this.#append('audit-acknowledgements', [{ type: 'DivergenceAcknowledged', data }], { actor: staff });
  }

  /** The issuer moves. */
  async nameIssuer(): Promise<void> {
    const data = { name: 'Tally & Co', address_lines: ['1 Film Row'], country: 'IE', tax_id: null, email: null };
    await this.#append('issuer', [{ type: 'IssuerDetailsChanged', data }], { actor: staff });
  }

  /** A head of the tree whose one leaf is the first invoice: of a log that begins with this account. */
  async signFirstInvoice(): Promise<void> {
    const [invoice] = this.#log.read(`invoices-${this.accountId}`);
    const { hash } = invoice?.metadata as { hash: string };
    const frontier = withNextLeaf(emptyFrontier, Buffer.from(hash, 'hex'));
    const [root, signer] = [rootOfFrontier(frontier), signerOf('reeltally.test/tlog', Buffer.alloc(32, 7))];
    const head = { origin: signer.name, size: 1, root: root.toString('hex'), frontier: [root.toString('hex')] };
    const data = { ...head, note: signCheckpoint({ size: 1, root }, signer), key: publicKeyText(signer.publicKey) };
    // An id of its own, so that the history is otherwise the same.
    const of = { actor: system, commandId: '0b9d4a6e-2f1c-4c53-9d0a-6a1e7c1f8b11', now: this.#now() };
    await this.#log.append('tree-heads', [{ type: 'TreeHeadSigned', data }], of);
  }

  /** Three of staff, one of whom leaves: what they look at, their tokens, and what they ask to give back. */
  async employStaff(): Promise<void> {
    const [support, finance, admin] = [
      await this.#hire('support'),
      await this.#hire('finance'),
      await this.#hire('admin'),
    ];
    await this.#correctInConsole({ support, finance, admin });
    const [staffId, tokenId] = [support.id, `stk_${this.#random.hex(20)}`];
    const hashed = { tokenHash: this.#random.hex(64), tokenPrefix: 'rts_test' };
    const token = { tokenId, ...hashed, label: 'a script', scopes: ['jobs' as const], lifetimeDays: 90 };
    await this.#staff({ kind: 'issue_token', staffId, ...token }, admin);
    await this.#staff({ kind: 'revoke_token', staffId, tokenId }, admin);
    const look = { account_id: this.accountId, token: null, page: 'account' } as const;
    await this.#staff(
      { kind: 'record_access', staffId, accessRecords: [look, { ...look, by_token: tokenId }] },
      support,
    );
    await this.#staff({ kind: 'change_role', staffId, role: 'finance' }, admin);
    await this.#staff({ kind: 'remove', staffId }, admin);
  }

  async #hire(role: StaffRole): Promise<StaffActor> {
    const staffId = `stf_${this.#random.hex(20)}`;
    const operator: Actor = { type: 'staff', id: 'maria', role: 'operator', reason: 'hired' };
    await this.#staff({ kind: 'invite', staffId, email: `${role}@example.com`, role }, operator);
    const actor = { type: 'staff', id: staffId, role, reason: 'the file was broken' } as const;
    await this.#staff({ kind: 'sign_in', staffId, signIn: { by: 'link' } }, actor);
    return actor;
  }

  async #staff(command: StaffCommand, actor: Actor): Promise<void> {
    const stream = `staff-${command.staffId}`;
    const decided = decideStaff(this.#log.fold(stream, initialStaff, evolveStaff), command, this.#now());
    if (isRefused(decided)) throw new Error(`${command.kind} was refused: ${decided.refusal}`);
    await this.#append(stream, decided, { actor });
    this.#nowMs += 60_000;
  }

  /** Requests with every end: waivers, credit notes, one that fails, one that is refused, one that waits. */
  async #correctInConsole({ support, finance, admin }: Record<StaffRole, StaffActor>): Promise<void> {
    const stream = this.#stream();
    const [one, two, three, four, five] = await this.#overage(5);
    const credit = { kind: 'credit_line', invoice_number: 1, line: 1 } as const;
    await this.#give(await this.#askFor(finance, stream, [{ ...one!, cents: 5 }]));
    const both = await this.#askFor(support, stream, [two!, three!]);
    await this.#decideRequest({ kind: 'approve', correctionId: both, by: admin });
    await this.#give(both);
    await this.#give(await this.#ask(finance, credit, 10));
    const large = await this.#ask(finance, credit, 90);
    await this.#decideRequest({ kind: 'approve', correctionId: large, by: admin });
    await this.#give(large);
    const taken = await this.#askFor(admin, stream, [{ ...four!, cents: 1 }]);
    await this.#waive(stream, four!.token);
    await this.#give(taken);
    const refused = await this.#askFor(support, stream, [{ ...five!, cents: 5 }]);
    await this.#decideRequest({ kind: 'refuse', correctionId: refused, by: finance });
    await this.#askFor(support, stream, [{ ...five!, cents: 5 }]);
  }

  /** Downloads until so many charges of this period have cents left. */
  async #overage(wanted: number): Promise<ChargesCorrection['charges']> {
    await this.#command({ kind: 'remove_overage_cap', effective: 'now' });
    await this.#command({ kind: 'change_key_limit', keyId: this.#client.id, changes: noLimit }, this.#opener());
    const terms = { ...small, rate_version: 'staff', overage_cents: 30 };
    await this.#command({ kind: 'change_plan', terms, effective: 'now' });
    for (;;) {
      const left = this.#chargesOf(this.#stream()).filter(({ cents }) => cents >= 10);
      if (left.length >= wanted) return left.slice(0, wanted);
      await this.#download();
    }
  }

  /** @returns the id of the request */
  async #ask(by: Asker, correction: Correction, cents: number): Promise<string> {
    const [correctionId, reference] = [this.#random.uuid(), `ask-${this.#random.hex(6)}`];
    const asked = { correctionId, accountId: this.accountId, reference, correction, cents, limitCents: 50, by };
    await this.#decideRequest({ kind: 'ask', ...asked });
    return correctionId;
  }

  #requests(): CorrectionRequests {
    return this.#log.fold(`corrections-${this.accountId}`, newCorrectionRequests(), evolveCorrectionRequests);
  }

  async #decideRequest(command: CorrectionRequestCommand): Promise<void> {
    const decided = decideCorrectionRequest(this.#requests(), command, this.#now());
    if (isRefused(decided)) throw new Error(`${command.kind} was refused: ${decided.refusal}`);
    const causationId = this.#requests().get(command.correctionId)?.permittedBy ?? undefined;
    const actor: Actor = 'by' in command ? command.by : { type: 'system', id: 'corrections' };
    await this.#append(`corrections-${this.accountId}`, decided, { actor, causationId });
    this.#nowMs += 60_000;
  }

  /** Carries out what is permitted, as far as the rules let it. */
  async #give(correctionId: string): Promise<void> {
    const request = this.#requests().get(correctionId);
    if (!request?.permittedBy) throw new Error(`${correctionId} is not permitted`);
    const { accountId } = this;
    const { correction, reference, cents, askedBy: actor, permittedBy: causationId } = request;
    const by = { actor, causationId };
    const stream = correction.kind === 'charges' ? correction.stream : '';
    const { charges, closed } = this.#log.fold(stream, newCharges(), evolveCharges);
    const target = correction.kind === 'charges' && !closed ? stream : `invoices-${accountId}`;
    const before = this.#log.read(target).length;
    if (correction.kind === 'credit_line') {
      const { invoice_number, line } = correction;
      const note = { account_id: accountId, reference, invoice_number, line, cents };
      await this.#invoice({ kind: 'credit_line', note }, by);
    } else if (closed) {
      const wanted = correction.charges.map((each) => ({ ...each, charge: charges.get(each.token)! }));
      await this.#invoice({ kind: 'credit_charges', accountId, reference, stream, charges: wanted }, by);
    } else await this.#correctCharge(stream, { kind: 'waive_charges', charges: correction.charges, reference }, by);
    const given = this.#log.read(target).slice(before);
    const givenCents = sum(given.map(({ data }) => (data as { cents: number }).cents));
    await this.#decideRequest(
      givenCents > 0
        ? { kind: 'made', correctionId, cents: givenCents }
        : { kind: 'failed', correctionId, why: 'nothing_to_give_back' },
    );
  }

  #stream(): string {
    return usageStream(this.accountId, this.#usage?.period ?? { start: '' });
  }

  #now = (): string => new Date(this.#nowMs).toISOString();

  async #append(stream: string, events: readonly DomainEvent[], by: By = { actor: system }): Promise<void> {
    await this.#log.append(stream, events, { ...by, now: this.#now() });
  }
}
