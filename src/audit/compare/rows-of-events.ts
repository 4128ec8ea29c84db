import { type Account, type ApiKey, openerOf } from '../rules/account.ts';
import type { RecordedEvent } from '../rules/audited-log.ts';
import { centsTaken } from '../rules/cents-taken.ts';
import type { Completeness } from '../rules/completeness.ts';
import type { Link } from '../rules/event-schemas.ts';
import type { Invoices } from '../rules/invoices.ts';
import type { Job } from '../rules/job.ts';
import type { Charge, Period } from '../rules/period.ts';
import type { ReplayObserver } from '../rules/replay.ts';
import type { SubjectOf } from './columns.ts';
import { countEvent, dayOf, emptyJobDay, emptyUsageDay, type JobDay, outcomeOf, type UsageDay } from './days.ts';
import type { ExpectedRows } from './expected-rows.ts';
import { MoneyRows } from './period-money.ts';
import { isChange } from './row-keys.ts';

/** The replay behind the rows. Finished periods and jobs, and queued ones beyond `maxJobs`, are forgotten once their rows are compared. */
interface Replayed {
  accounts: Map<string, Account>;
  periods: Map<string, Period>;
  jobs: Map<string, Job>;
  completeness: Completeness;
  forgetQueued: (token: string) => void;
}

/** With more jobs than that, queued ones are forgotten. While no worker runs, very many may wait. */
const maxJobs = 10_000;

const notices = ['UsageWarningReached', 'UsageWarningMailed', 'OverageCapReached', 'OverageCapMailed'];

/** Notes which rows of Postgres each event must have made or changed. */
export class RowsOfEvents implements ReplayObserver {
  readonly #replayed: Replayed;
  readonly #rows: ExpectedRows;
  /** Rows of notices that are not mailed yet, by the id of their event. */
  readonly #notices = new Map<string, SubjectOf<'usage_warnings'>>();
  /** The days of periods that are not closed, by stream. */
  readonly #days = new Map<string, Readonly<Record<string, UsageDay>>>();

  /** Events that name people who wait for a mail about a document, by their ids. */
  readonly #documents = new Map<string, SubjectOf<'document_mails'>>();

  /** What the periods of every account cost, and the sums of months. */
  readonly #money: MoneyRows;
  /** The days on which downloads ended. */
  readonly #jobDays = new Map<string, JobDay>();

  constructor(replayed: Replayed, rows: ExpectedRows) {
    this.#replayed = replayed;
    this.#rows = rows;
    this.#money = new MoneyRows(rows);
  }

  accountHeadMoved(account: Account, isNew: boolean): void {
    const { accountId } = account;
    const of = { accountId, key: accountId, subject: account, at: account };
    this.#rows.expect({ table: 'account_heads', ...of, isNew, day: '' });
  }

  accountChanged(event: Link, account: Account): void {
    const { type, data } = event;
    if (type === 'AccountOpened') {
      this.#limit(event, account, event.revision === 0);
      const { accountId } = account;
      this.#rows.expect({
        table: 'customers',
        accountId,
        key: accountId,
        subject: account,
        at: event,
        isNew: true,
        day: '',
      });
      this.#person(event, account, openerOf(accountId));
      return;
    }
    if (type === 'AccountErased') for (const personId of account.people.keys()) this.#person(event, account, personId);
    if (type === 'AccountClosed' || type === 'AccountErased')
      for (const key of account.keys.values()) this.#key(event, key, false);
    if (type === 'PersonInvited' || type === 'PersonRemoved') {
      this.#person(event, account, data.person_id);
      return;
    }
    const key = account.keys.get(data.key_id);
    if (key) this.#key(event, key, type === 'ApiKeyIssued' && key.position === event.position);
  }

  #person(event: Link, { accountId, people }: Account, personId: string): void {
    const subject = people.get(personId);
    if (!subject) return;
    const isNew = subject.position === event.position;
    const of = { accountId, key: `${accountId} ${personId}`, subject, at: event, day: '' };
    this.#rows.expect({ table: 'people', ...of, isNew });
  }

  #key(event: Link, key: ApiKey, isNew: boolean): void {
    const { accountId } = key.account;
    const { key_id, key_hash } = key;
    const of = { accountId, at: event, isNew, day: '' };
    this.#rows.expect({ table: 'api_keys', key: key_id, subject: key, ...of });
    const subject = { key, hash: key_hash.slice(0, 32), revoked: key.revokedAt !== null };
    this.#rows.expect({ table: 'api_key_window', key: key_id, subject, ...of });
  }

  /** Each key has its account's limit. */
  #limit(event: Link, account: Account, isNew: boolean): void {
    const { accountId, keys } = account;
    const of = { accountId, key: accountId, at: event };
    this.#rows.expect({ table: 'hourly_limits', subject: account, ...of, isNew, day: '' });
    for (const key of keys.values()) this.#key(event, key, false);
  }

  usageChanged(event: Link, period: Period, account: Account): void {
    const { data, type } = event;
    const { accountId } = period;
    const charge = period.charges.get(type.startsWith('Metadata') ? `lookup ${data.lookup_id}` : data.token);
    const taken = centsTaken(event);
    if (taken !== undefined) {
      const periodStart = period.opened?.data.period_start;
      const subject = { ...event, accountId, periodStart, taken };
      this.#rows.expect({ table: 'overage_ledger', accountId, key: event.id, subject, at: event, isNew: true });
      this.#day(event, period, taken);
    }
    if (type === 'UsagePeriodClosed') this.#endDays(event, accountId);
    if (type === 'DownloadQueued') this.#queued(event, period);
    this.#money.used(event, accountId);
    if (charge?.key) this.#keyed(event, { charge, period, account, keyHash: charge.key.key_hash });
    if (notices.includes(type)) this.#noticed(event, accountId);
    if (isChange(event))
      this.#rows.expect({
        table: 'usage_changes',
        accountId,
        key: event.id,
        subject: { ...event, accountId },
        at: event,
        isNew: true,
      });
    const isLimit = type === 'UsagePeriodOpened' || (type === 'PlanChanged' && data.effective === 'now');
    if (isLimit) this.#limit(event, account, false);
    this.#timeline(event, accountId, taken);
  }

  #day(event: Link, { stream, accountId }: Period, taken: number): void {
    const day = dayOf(event);
    const days = this.#days.get(stream);
    const known = days?.[day];
    const subject = known ?? emptyUsageDay(stream, accountId, day);
    if (!known) this.#days.set(stream, { ...days, [day]: subject });
    countEvent(subject, event, taken);
    const of = { accountId, key: `${stream} ${day}`, subject, at: event };
    this.#rows.expect({ table: 'usage_days', ...of, isNew: !known, isFinal: false });
  }

  /** A closed period is charged nothing more, and is given back nothing more. */
  #endDays(event: Link, accountId: string): void {
    const { stream } = event;
    for (const [day, subject] of Object.entries(this.#days.get(stream) ?? {})) {
      this.#rows.expect({ table: 'usage_days', accountId, key: `${stream} ${day}`, subject, at: event });
    }
    this.#days.delete(stream);
  }

  /** Every event of a download has its row, whichever of its two streams it is in. */
  #timeline(event: Link, accountId: string, taken?: number): void {
    const { token } = event.data as { token?: string };
    if (token === undefined) return;
    const subject = { event, taken };
    const key = `${token} ${String(event.position)}`;
    this.#rows.expect({ table: 'job_timeline', accountId, key, subject, at: event, isNew: true, day: '' });
  }

  /** Until the job is claimed, its row reflects the event that queued it. */
  #queued({ stream, position, data: { token } }: Link, { accountId, totals }: Period): void {
    const job = this.#replayed.jobs.get(token);
    if (!job) return;
    job.runningCents = totals.overage_cents;
    const at = { stream: job.stream, revision: -1, position };
    const of = { accountId, key: token, subject: job, at, isNew: true, isFinal: false, day: stream.slice(-8) };
    const forget = () => {
      if (this.#replayed.jobs.size > maxJobs) this.#replayed.forgetQueued(token);
    };
    this.#rows.expect({ table: 'jobs', ...of, forget });
  }

  jobEventRecorded(event: RecordedEvent, accountId: string): void {
    this.#timeline(event as Link, accountId);
    this.#jobEnded(event as Link);
  }

  #jobEnded(event: Link): void {
    const { type, data } = event;
    const queued = this.#replayed.jobs.get(data.token)?.queued;
    if (!queued || (type !== 'JobCompleted' && type !== 'JobFailed')) return;
    const [day, platform, outcome] = [dayOf(event), queued.platform, outcomeOf(event)];
    const key = `${day} ${platform} ${outcome}`;
    const isNew = !this.#jobDays.has(key);
    const subject = this.#jobDays.get(key) ?? emptyJobDay(day, platform, outcome);
    this.#jobDays.set(key, subject);
    subject.downloads += 1;
    this.#rows.expect({ table: 'job_days', accountId: '', key, subject, at: event, isNew, isFinal: false, day: '' });
  }

  jobChanged(job: Job, forget: () => void): void {
    const { accountId, queued } = job;
    const isFinal = job.end !== undefined;
    const of = { accountId, key: queued.token, subject: job, at: job, isFinal, forget: isFinal ? forget : undefined };
    this.#rows.expect({ table: 'jobs', ...of });
  }

  /** Notices to the owner, and their mails. */
  #noticed(event: Link, accountId: string): void {
    const { type, data } = event;
    const isNew = type.endsWith('Reached');
    const id = isNew ? event.id : type === 'OverageCapMailed' ? data.cap_event_id : data.warning_event_id;
    const subject = isNew ? { ...event, accountId, messageId: null } : this.#notices.get(id);
    if (!subject) return;
    if (isNew) this.#notices.set(id, subject);
    else {
      subject.messageId = data.message_id;
      this.#notices.delete(id);
    }
    const at = { ...subject, position: event.position };
    this.#rows.expect({ table: 'usage_warnings', accountId, key: id, subject, at, isNew, isFinal: !isNew });
  }

  #keyed(event: Link, of: { charge: Charge; period: Period; account: Account; keyHash: string }): void {
    const { charge, period, account, keyHash } = of;
    const isNew = event.type === 'DownloadQueued' && account.takeKey(event, charge, keyHash);
    if (account.idempotencyKeys?.get(keyHash) !== charge || !period.opened) return;
    const { account_id: accountId } = period.opened.data;
    const subject = { event, charge, accountId };
    const key = `${accountId} ${keyHash}`;
    this.#rows.expect({ table: 'idempotency_keys', accountId, key, subject, at: event, isNew });
  }

  periodChanged(period: Period, { isNew = false, position }: { isNew?: boolean; position: bigint }): void {
    const { accounts, periods, completeness } = this.#replayed;
    const { stream, revision, accountId } = period;
    // The invoice of a closed period still needs its charges.
    const isFinal = period.phase === 'closed' && !completeness.isDue(period);
    const forget = () => {
      const keys = accounts.get(accountId)?.idempotencyKeys;
      for (const charge of period.charges.values()) {
        // The key of a voided download stays known: the next download with it takes over the row.
        if (charge.key && !charge.voided && keys?.get(charge.key.key_hash) === charge) keys.delete(charge.key.key_hash);
      }
      period.charges.clear();
      periods.delete(stream);
    };
    const subject = { period, completeness };
    const of = { subject, at: { stream, revision, position }, isNew, isFinal, forget: isFinal ? forget : undefined };
    this.#rows.expect({ table: 'credits', accountId, key: stream, ...of });
  }

  invoiced(event: Link, invoices: Invoices, day = ''): void {
    const { accountId, waiting } = invoices;
    this.#money.documented(event, accountId);
    this.#rows.expect({ table: 'invoices', accountId, key: event.id, subject: event, at: event, isNew: true, day });
    this.#named(event, accountId, waiting.get(event.id));
  }

  documentMailsAsked(event: Link, { accountId, waiting }: Invoices): void {
    this.#named(event, accountId, waiting.get(event.id));
  }

  #named(event: Link, accountId: string, waiting: readonly string[] = []): void {
    if (waiting.length === 0) return;
    const { id, stream, revision, position, metadata } = event;
    const document = { id, stream, revision, time: metadata.time, accountId, waiting };
    this.#documents.set(id, document);
    this.#document(document, { isNew: true, position });
  }

  documentMailed(event: Link, { waiting }: Invoices): void {
    const id = event.data.document_event_id;
    const document = this.#documents.get(id);
    if (!document) return;
    document.waiting = waiting.get(id) ?? [];
    if (document.waiting.length === 0) this.#documents.delete(id);
    this.#document(document, { isNew: false, position: event.position });
  }

  #document(document: SubjectOf<'document_mails'>, { isNew, position }: { isNew: boolean; position: bigint }): void {
    const { id: key, accountId, waiting } = document;
    const of = { accountId, key, subject: document, at: { ...document, position }, isNew, day: '' };
    this.#rows.expect({ table: 'document_mails', ...of, isFinal: waiting.length === 0 });
  }
}
