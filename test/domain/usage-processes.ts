import { periodOfUsageStream, usageStream } from '../../src/domain/billing-period.ts';
import { decideUsage } from '../../src/domain/decide-usage.ts';
import type { PriorDownload, UsageCommand } from '../../src/domain/decide-usage.ts';
import { isRefused } from '../../src/domain/refusals.ts';
import type { Refused } from '../../src/domain/refusals.ts';
import { decideClosing, evolveClosing, initialClosing } from '../../src/domain/closing.ts';
import { decideCorrection, evolveCorrections, newCorrections } from '../../src/domain/corrections.ts';
import type { CorrectionCommand } from '../../src/domain/corrections.ts';
import { endPeriod, openNextPeriod } from '../../src/domain/usage-periods.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import { initialUsage } from '../../src/domain/usage-state.ts';
import type { Usage } from '../../src/domain/usage-state.ts';

/** Several processes that decide on one account's log, as the service's do, with nothing between them but its rules. */

export interface LoggedEvent {
  id: string;
  event: UsageEvent;
  time: string;
}

interface Append {
  stream: string;
  expected: number;
  events: readonly LoggedEvent[];
}

/** A log with the one rule that everything rests on: the exact revision, and a retry recognised by its ids. */
export class ModelLog {
  readonly streams = new Map<string, LoggedEvent[]>();
  readonly appends: Append[] = [];

  append(append: Append): 'stored' | 'conflict' {
    const { stream, expected, events } = append;
    const stored = this.streams.get(stream) ?? [];
    const there = stored.slice(expected + 1, expected + 1 + events.length);
    if (there.length > 0) return there.every(({ id }, index) => id === events[index]?.id) ? 'stored' : 'conflict';
    if (stored.length !== expected + 1) return 'conflict';
    this.streams.set(stream, [...stored, ...events]);
    this.appends.push(append);
    return 'stored';
  }

  read(stream: string, from = 0): readonly LoggedEvent[] {
    return (this.streams.get(stream) ?? []).slice(from);
  }
}

interface Known {
  stream: string;
  revision: number;
  usage: Usage;
}

let commands = 0;

/** A process whose knowledge may be old: it learns of the others by conflicts, or by a look when it has nothing to write. */
export class ModelProcess {
  readonly #log: ModelLog;
  readonly #first: string;
  #known: Known;

  constructor(log: ModelLog, firstStream: string) {
    this.#log = log;
    this.#first = firstStream;
    this.#known = { stream: firstStream, revision: -1, usage: initialUsage };
  }

  /** Forgets everything, as by a restart. */
  restart(): void {
    this.#known = { stream: this.#first, revision: -1, usage: initialUsage };
  }

  /** @param losesReply the append is stored, but this process does not hear of it and sends it once more */
  ask(command: UsageCommand, now: string, losesReply = false): readonly UsageEvent[] | Refused {
    let isCurrent = false;
    for (;;) {
      if (this.#rollOver(now)) continue;
      const { usage } = this.#known;
      if (usage.phase === 'absent') {
        this.#catchUp();
        continue;
      }
      const prior = this.#prior(command);
      if (prior && prior.stream !== this.#known.stream && !prior.voided) {
        const repeated = this.#repeatInEndedPeriod(command, prior, now);
        if (repeated) return repeated;
        continue;
      }
      const decision = decideUsage(usage, command, prior);
      if (!isRefused(decision) && decision.length > 0) {
        if (this.#append(decision, now, losesReply) === 'stored') return decision;
        this.#catchUp();
        isCurrent = true;
      } else if (isCurrent) return decision;
      else {
        this.#catchUp();
        isCurrent = true;
      }
    }
  }

  correct(stream: string, command: CorrectionCommand, now: string): readonly UsageEvent[] | Refused {
    const stored = this.#log.read(stream);
    const state = stored.reduce((folded, { event, id }) => evolveCorrections(folded, event, { id }), newCorrections());
    return this.#store(stream, decideCorrection(state, command), now);
  }

  close(stream: string, now: string): readonly UsageEvent[] | Refused {
    const stored = this.#log.read(stream);
    const state = stored.reduce((folded, { event, time }) => evolveClosing(folded, event, { time }), initialClosing);
    return this.#store(stream, decideClosing(state, 3_600, now), now);
  }

  #store(stream: string, decision: UsageEvent[] | Refused, now: string): readonly UsageEvent[] | Refused {
    const stored = this.#log.read(stream);
    if (!isRefused(decision) && decision.length > 0) {
      const append = { stream, expected: stored.length - 1, events: logged(decision, later(now, stored)) };
      if (this.#log.append(append) !== 'stored') throw new Error('nobody else writes while one process does');
    }
    return decision;
  }

  #repeatInEndedPeriod(command: UsageCommand, prior: FoundDownload, now: string) {
    const asked = command.kind === 'queue_download' ? command.idempotency?.fingerprint : undefined;
    if (prior.fingerprint !== asked) return { refusal: 'idempotency_key_reused' } as const;
    const confirmed = this.correct(prior.stream, { kind: 'confirm_download', token: prior.token }, now);
    return isRefused(confirmed) ? undefined : confirmed;
  }

  #rollOver(now: string): boolean {
    const { usage } = this.#known;
    if (usage.phase === 'open' && now >= usage.period.end) {
      if (this.#append([endPeriod(usage)], now) === 'conflict') this.#catchUp();
      return true;
    }
    if ((usage.phase === 'ended' || usage.phase === 'closed') && usage.next) {
      const opened = openNextPeriod(usage);
      this.#known = { stream: usageStream(usage.accountId, usage.next.period), revision: -1, usage: initialUsage };
      if (this.#append([opened], now) === 'conflict') this.#catchUp();
      return true;
    }
    return false;
  }

  #append(events: readonly UsageEvent[], now: string, losesReply = false): 'stored' | 'conflict' {
    const { stream, revision } = this.#known;
    const append = { stream, expected: revision, events: logged(events, later(now, this.#log.read(stream))) };
    const outcome = this.#log.append(append);
    if (losesReply && this.#log.append(append) !== outcome) throw new Error('a retry was not recognised');
    if (outcome === 'stored') this.#catchUp();
    return outcome;
  }

  #catchUp(): void {
    const { stream, revision } = this.#known;
    for (const { event } of this.#log.read(stream, revision + 1)) {
      this.#known = { stream, revision: this.#known.revision + 1, usage: evolveUsage(this.#known.usage, event) };
    }
  }

  /** The newest download with the command's key among what this process knows: earlier periods as they are, its own as far as it has read. */
  #prior(command: UsageCommand): FoundDownload | undefined {
    if (command.kind !== 'queue_download') return undefined;
    const { stream: known, revision } = this.#known;
    const found: FoundDownload[] = [];
    for (const stream of [...this.#log.streams.keys()].filter((name) => name <= known).sort()) {
      const events = this.#log.read(stream).slice(0, stream === known ? revision + 1 : undefined);
      for (const { event } of events) {
        if (event.type === 'DownloadQueued') {
          const { token, overage, idempotency } = event.data;
          const isSame = idempotency && idempotency.key_hash === command.idempotency?.keyHash;
          const fingerprint = idempotency?.fingerprint ?? null;
          if (isSame) found.push({ token, overage, fingerprint, stream, confirmed: false, voided: false });
        }
        const about = found.find((each) => 'token' in event.data && each.token === event.data.token);
        if (about && event.type === 'DownloadConfirmed') about.confirmed = true;
        if (about && event.type === 'DownloadVoided') about.voided = true;
      }
    }
    return found.at(-1);
  }
}

interface FoundDownload extends PriorDownload {
  stream: string;
}

function logged(events: readonly UsageEvent[], time: string): LoggedEvent[] {
  commands += 1;
  const command = String(commands).padStart(12, '0');
  return events.map((event, index) => ({
    id: `00000000-0000-5000-8${String(index).padStart(3, '0')}-${command}`,
    event,
    time,
  }));
}

const later = (now: string, stored: readonly LoggedEvent[]) => {
  const last = stored.at(-1)?.time ?? '';
  return now > last ? now : last;
};

/** The period that a stream is of, as the model counts them. */
export const startOf = (stream: string) => periodOfUsageStream(stream).start;
