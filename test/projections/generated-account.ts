import { addMetadata } from '../../src/commands/handler/event-metadata.ts';
import { firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import { accountStream } from '../../src/domain/account-events.ts';
import { firstBillingPeriod, usageStream } from '../../src/domain/billing-period.ts';
import { correctionsStream } from '../../src/domain/correction-events.ts';
import { type JobEvent, jobStream } from '../../src/domain/download-job-events.ts';
import { plusSeconds } from '../../src/domain/instant.ts';
import { invoicesStream } from '../../src/domain/invoice-events.ts';
import type { DomainEvent } from '../../src/domain/parse-event.ts';
import { openerOf } from '../../src/domain/people.ts';
import type { PlanTerms } from '../../src/domain/plans.ts';
import { staffStream } from '../../src/domain/staff-events.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import type { EventStore, EventToAppend, ExpectedRevision } from '../../src/ports/event-store.ts';
import { newId, newUuid, randomBits } from '../../src/system/clock-and-chance.ts';
import { midNovember } from '../commands/usage-account.ts';
import { plan, video } from '../domain/usage-examples.ts';

export interface Append {
  stream: string;
  expected: ExpectedRevision;
  events: EventToAppend[];
}

export interface GeneratedKey {
  keyId: string;
  keyHash: string;
}

const generatedToken = () => `A${newUuid().replaceAll('-', '').slice(1)}`;

const included = 2;
const rateCents = 25;

/**
 * The events of an account, written as the service writes it (chained, at exact revisions), but in appends
 * as large as one likes: the way to a long log in a short time. Appends must be stored in the order in which they are made.
 */
export class GeneratedAccount {
  readonly accountId = newId('acc');
  readonly #openedAt: string;
  readonly #time: string;
  readonly #period: ReturnType<typeof firstBillingPeriod>;
  readonly #usageStream: string;
  readonly #ends = new Map<string, { revision: number; hash: string }>();
  /** The event that opened the period, which the first invoice names. */
  #opened = { id: '', hash: '' };
  #downloads = 0;
  #unworked: { token: string; revision: number }[] = [];

  constructor(openedAt = '2026-11-01T00:00:00.000Z', time = midNovember) {
    this.#openedAt = openedAt;
    this.#time = time;
    this.#period = firstBillingPeriod(openedAt);
    this.#usageStream = usageStream(this.accountId, this.#period);
  }

  open(changed: Partial<PlanTerms> = {}): Append[] {
    const { accountId: account_id } = this;
    const { start: period_start, end: period_end, anchorDay: anchor_day } = this.#period;
    const terms = { ...plan, downloads_limit: included, overage_cents: rateCents, ...changed };
    const period = { account_id, anchor_day, period_start, period_end };
    const personal = { email: 'owner@example.com' };
    const opened = this.#append(
      accountStream(account_id),
      [{ type: 'AccountOpened', data: { ...period, terms, personal } }],
      this.#openedAt,
    );
    const first = this.#append(this.#usageStream, [
      {
        type: 'UsagePeriodOpened',
        data: { ...period, previous_period_start: null, terms: { ...terms, overage_cap_cents: null } },
      },
    ]);
    this.#opened = { id: first.events[0]?.id ?? '', hash: this.#ends.get(this.#usageStream)?.hash ?? '' };
    return [opened, first];
  }

  issueKey(keyHash = randomBits(32).toString('hex')): GeneratedKey & { append: Append } {
    const keyId = newId('key');
    const data = { account_id: this.accountId, key_id: keyId, key_hash: keyHash, key_prefix: 'rt_live_' };
    const event: DomainEvent = { type: 'ApiKeyIssued', data: { ...data, personal: { label: 'generated' } } };
    return { keyId, keyHash, append: this.#append(accountStream(this.accountId), [event]) };
  }

  revokeKey({ keyId }: GeneratedKey): Append {
    const data = { account_id: this.accountId, key_id: keyId };
    return this.#append(accountStream(this.accountId), [{ type: 'ApiKeyRevoked', data }]);
  }

  invitePerson(): { personId: string; append: Append } {
    const personId = newId('per');
    const data = { account_id: this.accountId, person_id: personId, personal: { email: `${personId}@example.com` } };
    return { personId, append: this.#append(accountStream(this.accountId), [{ type: 'PersonInvited', data }]) };
  }

  removePerson(personId: string): Append {
    const data = { account_id: this.accountId, person_id: personId };
    return this.#append(accountStream(this.accountId), [{ type: 'PersonRemoved', data }]);
  }

  /** The invoice of the first fee. */
  invoice(): Append {
    const { accountId: account_id } = this;
    const { start: period_start, end: period_end } = this.#period;
    const event = { stream: this.#usageStream, revision: 0, ...this.#opened };
    const line = { kind: 'fee', plan: plan.plan, period_start, period_end, cents: plan.fee_cents, event } as const;
    const covered = { account_id, covers: 'opening', period_start, period_end } as const;
    const issued = { number: 1, ...covered, currency: 'USD', lines: [line], total_cents: plan.fee_cents } as const;
    const data = { ...issued, lines: [line], mail_to: [openerOf(account_id)] };
    return this.#append(invoicesStream(account_id), [{ type: 'InvoiceIssued', data }]);
  }

  warn(): Append {
    const data = { pool: 'downloads', threshold_percent: 80, used: 4, limit: 5 } as const;
    return this.#append(this.#usageStream, [{ type: 'UsageWarningReached', data }]);
  }

  /** A cap that is far away. */
  cap(): Append {
    const data = { effective: 'now', overage_cap_cents: 1_000_000 } as const;
    return this.#append(this.#usageStream, [{ type: 'OverageCapSet', data }]);
  }

  /** A cent of that invoice given back. */
  credit(number: number): Append {
    const note = { number, account_id: this.accountId, reference: `case-${number}`, invoice_number: 1, line: 1 };
    const data = { ...note, charges: [], currency: 'USD' as const, cents: 1 };
    const mail_to = [openerOf(this.accountId)];
    return this.#append(invoicesStream(this.accountId), [{ type: 'CreditNoteIssued', data: { ...data, mail_to } }]);
  }

  /** A member of staff with a token, who has looked at the account. */
  employ(): Append {
    const [staff_id, time] = [newId('stf'), this.#time];
    const token = {
      staff_id,
      token_id: newId('stk'),
      token_hash: randomBits(32).toString('hex'),
      token_prefix: 'rts_test',
    };
    return this.#append(staffStream(staff_id), [
      { type: 'StaffInvited', data: { staff_id, role: 'support', personal: { email: `${staff_id}@example.com` } } },
      {
        type: 'StaffTokenIssued',
        data: { ...token, scopes: ['jobs'], expires_at: plusSeconds(time, 86_400), personal: { label: 'generated' } },
      },
      { type: 'PersonalDataViewed', data: { staff_id, account_id: this.accountId, token: null, page: 'account' } },
    ]);
  }

  /** Somebody asks to give a charge back. */
  ask(): Append {
    const correction = {
      kind: 'charges' as const,
      stream: this.#usageStream,
      charges: [{ token: generatedToken(), revision: 1, cents: rateCents }],
    };
    const data = { correction_id: newUuid(), account_id: this.accountId, reference: `ask-${newUuid()}`, correction };
    const limit = { cents: rateCents, limit_cents: 0, needs_approval: true };
    return this.#append(correctionsStream(this.accountId), [{ type: 'CorrectionAsked', data: { ...data, ...limit } }]);
  }

  queue(count: number, newToken = generatedToken): Append {
    const first = (this.#ends.get(this.#usageStream)?.revision ?? -1) + 1;
    const events = Array.from({ length: count }, (_, index): UsageEvent[] => {
      this.#downloads += 1;
      const [token, ordinal] = [newToken(), this.#downloads];
      // The first has an idempotency key.
      const hash = () => randomBits(32).toString('hex');
      const idempotency = ordinal === 1 ? { key_hash: hash(), fingerprint: hash() } : null;
      const overage = ordinal > included;
      this.#unworked.push({ token, revision: first + index * 2 + 1 });
      const { platform, videoId: video_id, canonicalUrl: url } = video;
      const options = { format: 'video', quality: 'best', audio_format: 'mp3', item: 1 } as const;
      const charged = { cents: rateCents, rate_cents: rateCents, rate_version: plan.rate_version };
      return [
        overage
          ? { type: 'OverageCharged', data: { token, ordinal, ...charged } }
          : { type: 'DownloadCreditDebited', data: { token, ordinal } },
        {
          type: 'DownloadQueued',
          data: { token, platform, video_id, url, ...options, overage, idempotency },
        },
      ];
    });
    return this.#append(this.#usageStream, events.flat());
  }

  /**
   * The jobs of all downloads that were queued since: of each five, three are done (one has expired), one failed, one running.
   *
   * @param areOver all are done instead, and their files have expired
   */
  work({ areOver = false } = {}): Append[] {
    const unworked = this.#unworked;
    this.#unworked = [];
    return unworked.map(({ token, revision }, number) => {
      const index = areOver ? 0 : number;
      const worker_id = newId('wrk');
      const claim = { token, account_id: this.accountId, worker_id, attempt: 1 };
      const events: JobEvent[] = [
        { type: 'JobClaimed', data: { ...claim, usage_stream: this.#usageStream, usage_revision: revision } },
        { type: 'JobStarted', data: { token, worker_id } },
      ];
      const file = { file_name: 'media.mp4', file_mime: 'video/mp4', file_size_bytes: 1234, duration_seconds: 9.5 };
      if (index % 5 < 3) {
        const file_sha256 = 'b'.repeat(64);
        events.push({ type: 'JobCompleted', data: { token, claim_revision: 0, file_sha256, ...file } });
        if (index % 5 === 0) events.push({ type: 'FileExpired', data: { token, claim_revision: 0 } });
      } else if (index % 5 === 3)
        events.push({ type: 'JobFailed', data: { token, reason: 'video_unavailable', fault: 'video' } });
      return this.#append(jobStream(token), events);
    });
  }

  #append(stream: string, events: readonly DomainEvent[], time = this.#time): Append {
    const end = this.#ends.get(stream);
    const commandId = newUuid();
    const actor = { type: 'system', id: 'test' } as const;
    const cause = { commandId, correlationId: `req-${commandId}`, causationId: commandId, actor };
    const expected = end?.revision ?? 'no_stream';
    const previousHash = end?.hash ?? firstPreviousHash(stream);
    const caused = events.map((event) => ({ event, cause }));
    const chained = addMetadata(caused, { stream, expected, previousHash, time });
    // Nothing follows on the stream of a job: hundreds of thousands of them are not kept.
    if (!stream.startsWith('job-')) {
      this.#ends.set(stream, { revision: (end?.revision ?? -1) + events.length, hash: chained.lastHash });
    }
    return { stream, expected, events: chained.events };
  }
}

/** All must be stored; those of one stream one after the other, others at once. */
export async function appendAll(store: EventStore, appends: readonly Append[]): Promise<void> {
  const streams = Map.groupBy(appends, ({ stream }) => stream).values();
  const outcomes = Array.from(streams, async (ofStream) => {
    for (const { stream, expected, events } of ofStream) {
      const outcome = await store.append(stream, expected, events);
      if (outcome !== 'stored') throw new Error(`an append to ${stream} ended with ${outcome}`);
    }
  });
  await Promise.all(outcomes);
}

/** A whole account: so many downloads, and their jobs behind them, in the order of the whole log too. */
export async function appendUsedAccount(store: EventStore, downloads: number): Promise<void> {
  const account = new GeneratedAccount();
  await appendAll(store, [...account.open(), account.issueKey().append, account.invoice()]);
  await appendAll(store, [account.queue(downloads)]);
  await appendAll(store, account.work());
}
