import type { Account } from './account.ts';
import type { RecordedEvent } from './audited-log.ts';
import type { Chain } from './chain.ts';
import { chargesGiven } from './correction-requests.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { type Invoices, linesOf } from './invoices.ts';
import type { Job } from './job.ts';
import type { Period } from './period.ts';
import { PermittedMoney } from './permitted-money.ts';
import { accountOf, parseStreamName, usageStream } from './streams.ts';

/** The replay so far. */
interface Replayed {
  accounts: ReadonlyMap<string, Account>;
  periods: ReadonlyMap<string, Period>;
  invoices: ReadonlyMap<string, Invoices>;
  periodUpTo: (stream: string, position: bigint) => Promise<Period | undefined>;
}

/** The service's time limits for its own actions, in milliseconds. */
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The setting CLOSING_GRACE_SECONDS is never longer. */
const longestGraceMs = 31 * dayMs;

/** A failure of the service that was not given back. */
interface Failure extends Pick<Link, 'stream' | 'revision' | 'position'> {
  time: string;
  token: string;
  /** The stream of the period in which the download was charged. */
  usageStream: string;
  /** It was decided whether it should have been given back. */
  isJudged: boolean;
}

/** Finds gaps in the log: missing periods, invoices, and returns for failures of the service. */
export class Completeness {
  readonly #replayed: Replayed;
  readonly #report: Report;
  /** Invoiced periods, such as `period usage-…`. */
  readonly #invoiced = new Set<string>();
  /** Stream metadata that hides events, by stream. */
  readonly #hidden = new Map<string, RecordedEvent>();
  /** By the id of their event. */
  readonly #failures = new Map<string, Failure>();
  #givenBack: { event: Link; chain: Chain }[] = [];
  readonly permitted = new PermittedMoney();

  constructor(replayed: Replayed, report: Report) {
    this.#replayed = replayed;
    this.#report = report;
  }

  /** Only the newest metadata of a stream counts. */
  followMetadata(event: RecordedEvent): void {
    const stream = event.stream.replace(/^\$\$/, '');
    if (!parseStreamName(stream)) return;
    const isHidden = event.type === '$streamDeleted' || hiding(event).length > 0;
    if (isHidden) this.#hidden.set(stream, event);
    else this.#hidden.delete(stream);
  }

  invoiced(covers: string, stream: string): void {
    this.#invoiced.add(`${covers} ${stream}`);
  }

  failed({ id, stream, revision, position, data: { token }, metadata: { time } }: Link, { queued }: Job): void {
    const at = { stream, revision, position, time };
    this.#failures.set(id, { ...at, token, usageStream: queued.stream, isJudged: false });
  }

  givenBack(event: Link, chain: Chain): void {
    this.#givenBack.push({ event, chain });
  }

  openingIsDue({ opened, stream }: Period): boolean {
    const { previous_period_start, terms } = opened?.data ?? {};
    return previous_period_start === null && (terms?.fee_cents ?? 0) > 0 && !this.#invoiced.has(`opening ${stream}`);
  }

  periodIsDue(period: Period): boolean {
    if (period.phase !== 'closed' || this.#invoiced.has(`period ${period.stream}`)) return false;
    return linesOf(period).reduce((sum, { cents }) => sum + cents, 0) > 0;
  }

  isDue = (period: Period): boolean => this.openingIsDue(period) || this.periodIsDue(period);

  /**
   * Reports everything that is overdue.
   *
   * @param now UTC ISO-8601
   * @param settled tells whether something has been missing for long enough to be reported
   */
  async check(now: string, position: bigint, settled: (what: string) => boolean): Promise<void> {
    for (const period of this.#replayed.periods.values()) this.#reportAwaited(period);
    const nowMs = Date.parse(now);
    const isOver = (since: string, ms: number, what: string) => Date.parse(since) + ms < nowMs && settled(what);
    for (const [stream, event] of this.#hidden) this.#reportHidden(stream, event);
    for (const account of this.#replayed.accounts.values()) {
      const { asked, next, lastEnded, closed } = account;
      account.checkClosed();
      account.checkKeys();
      if (lastEnded && !closed && isOver(lastEnded.metadata.time, hourMs, `closed ${lastEnded.stream}`))
        account.missing('account_closed', lastEnded, 'data.next', 'AccountClosed within an hour');
      if (!asked || !next || !isOver(asked.metadata.time, hourMs, `next ${asked.stream}`)) continue;
      const field = asked.type === 'AccountOpened' ? 'data.period_start' : 'data.next.period_start';
      account.missing('period_missing', asked, field, usageStream(account.accountId, next.period_start));
    }
    for (const period of this.#replayed.periods.values()) this.#checkPeriod(period, isOver);
    this.#matchGivenBack();
    this.permitted.check(isOver);
    for (const [id, failure] of this.#failures) {
      if (failure.isJudged || !isOver(failure.time, hourMs, `failure ${id}`)) continue;
      const isOwed = await this.#isOwed(failure, position);
      failure.isJudged = true;
      if (isOwed) this.#reportOwed(failure);
    }
  }

  #reportOwed({ usageStream, stream, revision }: Failure): void {
    this.#report({
      rule: 'service_failure_returned',
      account_id: accountOf(usageStream),
      stream,
      revision,
      field: 'data.fault',
      expected: 'given back within an hour',
      found: 'none',
    });
  }

  #checkPeriod(period: Period, isOver: (since: string, ms: number, what: string) => boolean): void {
    const { opened, phase, phaseSince, stream } = period;
    if (!opened) return;
    const { period_end } = opened.data;
    if (phase === 'open' && isOver(period_end, dayMs, `end ${stream}`))
      period.missing('period_not_ended', opened, 'data.period_end', 'UsagePeriodEnded');
    if (phase === 'ended' && isOver(phaseSince, longestGraceMs, `close ${stream}`))
      period.missing('period_not_closed', opened, 'data.period_end', 'UsagePeriodClosed');
    if (this.openingIsDue(period) && isOver(opened.metadata.time, hourMs, `opening ${stream}`))
      period.missing('invoice_missing', opened, 'data.terms.fee_cents', 'an invoice of the first fee');
    if (this.periodIsDue(period) && isOver(phaseSince, hourMs, `invoice ${stream}`))
      period.missing('invoice_missing', opened, 'data.period_end', 'an invoice of the period');
  }

  #reportHidden(stream: string, event: RecordedEvent): void {
    const names = hiding(event);
    this.#reportTruncated(stream, event.revision, names.length > 0 ? names.join(', ') : event.type);
  }

  /** Reports a stream that was deleted for good: its readers get no events. */
  reportDeleted(stream: string): void {
    this.#reportTruncated(stream, -1, 'deleted');
  }

  #reportTruncated(stream: string, revision: number, found: string): void {
    this.#report({
      rule: 'stream_truncated',
      account_id: accountOf(stream),
      stream,
      revision,
      field: 'metadata of the stream',
      expected: 'nothing that hides events',
      found,
    });
  }

  /** Reports the events that the newest append of a period should have had. */
  #reportAwaited({ awaited, accountId, stream, revision }: Period): void {
    for (const { type } of awaited.filter(({ mayBeMissing }) => mayBeMissing !== true)) {
      this.#report({
        rule: 'append_whole',
        account_id: accountId,
        stream,
        revision: revision + 1,
        field: 'type',
        expected: type,
        found: 'nothing',
      });
    }
  }

  /** Each return names an earlier failure, and each failure is returned once. */
  #matchGivenBack(): void {
    const givenBack = this.#givenBack;
    this.#givenBack = [];
    for (const { event, chain } of givenBack) {
      const { $causationId } = event.metadata;
      const failure = this.#failures.get($causationId);
      const tokens = chargesGiven(event).map(({ token }) => token);
      const isFor = failure?.token === tokens.join(' ') && failure.position < event.position;
      const expected = 'a failure of the service, given back once';
      if (isFor) this.#failures.delete($causationId);
      else chain.wrong('service_failure_unfounded', event, 'metadata.$causationId', expected);
    }
  }

  /** @returns whether the failed download still holds a charge that the terms return, and have returned since the failure */
  async #isOwed(failure: Failure, position: bigint): Promise<boolean> {
    const { usageStream, token } = failure;
    const known = this.#replayed.periods.get(usageStream);
    const period = known?.charges.has(token) ? known : await this.#replayed.periodUpTo(usageStream, position + 1n);
    const charge = period?.charges.get(token);
    if (!period || !charge || (period.returnsFailuresSince ?? failure.position) >= failure.position) return false;
    const dueMs = Date.parse(failure.time) + hourMs;
    const isClosed = period.phase === 'closed' && Date.parse(period.phaseSince) <= dueMs;
    if (charge.leftCredits > 0) return !isClosed;
    const credited = this.#replayed.invoices.get(period.accountId)?.creditedOf(charge.id) ?? 0;
    return charge.leftCents > credited;
  }
}

/** The fields of a stream's metadata that hide some of its events. */
function hiding({ data }: RecordedEvent): string[] {
  const metadata = Object(data) as Record<string, unknown>;
  const names = ['$tb', '$maxCount', '$maxAge'].filter((name) => (metadata[name] ?? 0) !== 0);
  return names.map((name) => `${name}: ${JSON.stringify(metadata[name])}`);
}
