import { createHash } from 'node:crypto';
import { virtualMs } from './clock.ts';
import { EventLog, type StoredEvent } from './event-log.ts';
import type { Network } from './event-log-client.ts';
import { Faults } from './faults.ts';
import { SimulatedQueue } from './job-queue.ts';
import { MailServer } from './mail-server.ts';
import { Postgres } from './postgres.ts';
import type { SimulatedProcess } from './process.ts';
import { Randomness } from './random.ts';
import { ReadModels } from './read-models.ts';
import { SimulatedFiles } from './simulated-files.ts';

export interface SimulatedAccount {
  accountId: string;
  personId: string;
  email: string;
  apiKey: string;
  keyId: string;
}

/** Two clocks of processes by each other. */
const clocksDifferMs = 2_000;

/** Everything around the processes of one history, and the record of what happens. */
export class World {
  readonly randomness: Randomness;
  readonly faults: Faults;
  readonly log: EventLog;
  readonly postgres: Postgres;
  readonly network: Network;
  readonly queue: SimulatedQueue;
  readonly files: SimulatedFiles;
  /** Undefined where nothing is mailed. */
  readonly mails: MailServer | undefined;
  /** Names of the faults that happened, in order. */
  readonly happened: string[] = [];
  /** Bugs that a part of the world has met itself. */
  readonly violations: { rule: string; what: string }[] = [];
  readonly accounts: SimulatedAccount[] = [];
  /** By the SHA-256 of an API key. */
  readonly accountsByKey = new Map<string, SimulatedAccount>();
  hasWorkers = false;
  /** Which parts of the service run beside the money core; all of them at once would take long. */
  readonly parts: { corrections: boolean; mails: boolean; files: boolean; keys: boolean };
  /** Ids of members of staff. */
  readonly staff: string[] = [];
  /** What one of them may give back to an account within a day without a second one. */
  readonly approvalCents: number;
  /** The virtual instant at which the accounts' billing period ends. */
  endOfPeriodMs = Infinity;
  readonly comesInBursts: boolean;
  /** Films fail also when nothing else does. */
  readonly shareOfFailingFilms: number;
  /** Of the requests with an idempotency key, those that name another video than others with that key. */
  readonly shareOfMistakes: number;
  /** The instant of business time at virtual time 0. */
  startMs = 0;
  /** Business time that has passed with nothing running, as for machines that are suspended. */
  leapMs = 0;
  /** How long a finished file is given out. */
  readonly fileRetentionSeconds: number;
  /** Every link to every file is over. */
  areLinksOver = false;
  #held = 0;
  readonly #lines: string[] = [];
  readonly #hash = createHash('sha256');
  readonly #print: ((line: string) => void) | undefined;

  constructor(seed: number, only: ReadonlySet<string> | undefined, print?: (line: string) => void) {
    this.#print = print;
    this.randomness = new Randomness(seed);
    this.faults = new Faults(this.randomness, only, (name) => {
      this.happened.push(name);
      this.tell('fault', name);
    });
    const delays = this.randomness.of('delays');
    const swarm = this.randomness.of('coincidences');
    this.comesInBursts = swarm.chance(0.4);
    this.shareOfFailingFilms = swarm.pick([0, 0.3, 0.7]);
    this.shareOfMistakes = swarm.pick([0.02, 0.5]);
    const parts = this.randomness.of('parts');
    const [corrections, mails, files, keys] = [0.4, 0.3, 0.4, 0.4].map((probability) => parts.chance(probability));
    this.parts = { corrections: corrections!, mails: mails!, files: files!, keys: keys! };
    this.approvalCents = parts.pick([0, 60, 1_000]);
    this.fileRetentionSeconds = files ? parts.pick([5, 20]) : 86_400;
    // What takes no time happens at the same instant.
    const isInstant = swarm.chance(0.4);
    this.network = {
      happens: (fault) => this.faults.happens(fault),
      delayMs: (leastMs, mostMs) => (isInstant && mostMs < 10 ? 0 : delays.between(leastMs, mostMs)),
      atCall: (process, at, name) => this.#disturb(process, at, name),
    };
    this.log = new EventLog((events) => {
      this.tell('log', textOf(events));
      this.#holdInvoices(events);
    });
    this.queue = new SimulatedQueue(this.network);
    this.files = new SimulatedFiles(this.network);
    this.files.onRemoval = (name, linkedUntilMs) => this.#checkRemoval(name, linkedUntilMs);
    this.mails = mails ? new MailServer(this.network) : undefined;
    this.postgres = new Postgres(new ReadModels(), this.network);
  }

  /** Adds a line to the trace. */
  tell(who: string, what: string): void {
    const line = `${String(virtualMs()).padStart(7)} ${who.padEnd(12)} ${what}`;
    this.#lines.push(line);
    this.#print?.(line);
  }

  /** Of the whole trace: the same seed gives the same one. */
  traceHash(): string {
    return this.#hash.update(this.#lines.join('\n')).digest('hex').slice(0, 16);
  }

  nowMs = virtualMs;

  urlOf = (video: number): string => `https://www.youtube.com/watch?v=${String(video).padStart(11, '0')}`;

  hadTroubleWithPostgres = (fromMs: number, toMs: number): boolean =>
    this.postgres.troublesMs.some((atMs) => atMs >= fromMs && atMs <= toMs);

  /** Business time without the error of any clock, UTC ISO-8601. */
  now = (): string => new Date(this.realNowMs()).toISOString();

  realNowMs = (): number => this.startMs + virtualMs() + this.leapMs;

  /** Invoices of some periods come long after the close: nothing that is appended to their stream arrives before. */
  #holdInvoices([event]: readonly StoredEvent[]): void {
    if (event?.type !== 'UsagePeriodClosed') return;
    const holds = this.randomness.of('held invoices');
    const [isHeld, lengthMs] = [holds.chance(0.7), holds.between(5_000, 40_000)];
    if (!isHeld || !this.faults.takesPlace(`invoices_held.${String((this.#held += 1))}`)) return;
    const stream = event.stream.replace(/^usage-(.*)-\d+$/, 'invoices-$1');
    this.log.heldUntilMs.set(stream, virtualMs() + lengthMs);
  }

  /** A file that is done stays as long as it is given out, and as long as a link to it is valid. */
  #checkRemoval(name: string, linkedUntilMs: number): void {
    const [token = '', claimRevision] = name.split('/');
    const completed = this.log.events.find(
      ({ stream, type, data }) =>
        stream === `job-${token}` &&
        type === 'JobCompleted' &&
        String((data as { claim_revision: number }).claim_revision) === claimRevision,
    );
    if (!completed) return;
    const { time } = completed.metadata as { time: string };
    const keptUntilMs = Math.max(Date.parse(time) + this.fileRetentionSeconds * 1_000, linkedUntilMs);
    if (this.realNowMs() + clocksDifferMs < keptUntilMs)
      this.violations.push({ rule: 'file_is_kept', what: `${name} is removed while it is given out` });
  }

  #disturb(process: SimulatedProcess, at: 'call' | 'reply', name: string): void {
    if (process.state !== 'running') return;
    if (this.faults.happens(at === 'call' ? 'killed_at_call' : 'killed_at_reply')) {
      this.tell(process.name, `is killed at the ${at} of ${name}`);
      process.kill();
    } else if (at === 'reply' && this.faults.happens('paused_at_reply')) {
      const pauseMs = this.randomness.of('pauses').between(200, 40_000);
      this.tell(process.name, `stands still for ${String(pauseMs)} ms at the reply of ${name}`);
      process.pause(pauseMs);
    }
  }
}

function textOf(events: readonly StoredEvent[]): string {
  const [first] = events;
  return `${first?.stream ?? ''} ${String(first?.revision)} ${events.map(({ type }) => type).join(' ')}`;
}
