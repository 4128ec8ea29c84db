import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { QueuedJob } from '../commands/record-job-progress.ts';
import { readUsageStreamName } from '../domain/billing-period.ts';
import type { JobMessage, ReceivedJob } from '../ports/job-queue.ts';
import type { Turn, TurnWanted } from '../ports/job-turns.ts';
import type { QuotaName } from '../ports/observers.ts';
import { servicePart, type ServiceParts } from '../ports/service-parts.ts';

export interface ChooserDependencies {
  workerId: string;
  /** Downloads of one account at a time, over all workers. */
  maxJobsPerAccount: number;
  /** Downloads of one platform at a time, in this worker. */
  maxJobsPerPlatform: number;
  /** A random account id. The turn begins there, so that restarts favour nobody. */
  firstTurn: string;
  readTurn: (wanted: TurnWanted) => Promise<Turn>;
  now: () => string;
  logger: Logger;
  serviceParts?: ServiceParts;
  /** Jobs wait because their account or their platform is at its limit. */
  heldBack?: ((quota: QuotaName) => void) | undefined;
}

/** A message, and the event that it names; undefined where it names no queued download. */
export interface Hint {
  received: ReceivedJob;
  queued: Promise<QueuedJob | undefined>;
}

/** The job that a free slot should claim now. It counts for its account and its platform until it is given back. */
export interface Chosen {
  message: JobMessage;
  /** Revision of the job's last event, -1 if it has none. */
  jobRevision: number | undefined;
  /** The message named it, and the read model does not have it yet. */
  isHint: boolean;
  /** Somebody has claimed it: it is not chosen again, even while its row is behind. */
  settle: () => void;
  giveBack: () => void;
}

/**
 * What the read model says of the job that a message names. `unknown`: it has not got it yet. `early`: it may not be claimed
 * before an instant. `known`: it waits and will be chosen when its turn comes, or it waits no more.
 */
export type HintState = { state: 'unknown' | 'known' } | { state: 'early'; notBefore: string };

export type Chooser = ReturnType<typeof createChooser>;

const noTurn: Turn = { next: null, accounts: [], named: null };
/** How long to go without the read model after it did not answer. */
const awayMs = 1_000;
const settledMs = 60_000;
const maxSettled = 256;
const maxHeldBack = 10_000;

/**
 * Serves accounts in turn, whatever the order of messages: the account with the fewest downloads in progress comes first, among
 * several the one after the last that was served, and of each account the oldest job. The looks of one worker come one after the
 * other, so that they are exact among its slots. Workers that look at the same moment may choose the same job; its claim decides.
 * While Postgres is away, jobs are taken as messages come, and the limits hold within this worker.
 */
export function createChooser(dependencies: ChooserDependencies) {
  const { workerId, maxJobsPerAccount, maxJobsPerPlatform, readTurn, now, heldBack } = dependencies;
  const part = servicePart(dependencies, 'the choice of jobs');
  const [accounts, platforms] = [new Map<string, number>(), new Map<string, number>()];
  const claiming = new Set<string>();
  const settled = new LRUCache<string, true>({ max: maxSettled, ttl: settledMs });
  const away = new LRUCache<'postgres', true>({ max: 1, ttl: awayMs });
  const limitedAt = new LRUCache<string, string>({ max: maxHeldBack });
  let after = dependencies.firstTurn;
  let lastLook: Promise<unknown> = Promise.resolve();

  async function look(named: TurnWanted['named']): Promise<Turn> {
    if (away.has('postgres')) return noTurn;
    const fullPlatforms = [...platforms].flatMap(([name, count]) => (count >= maxJobsPerPlatform ? [name] : []));
    const wanted = { workerId, after, now: now(), maxJobsPerAccount, named, fullPlatforms };
    try {
      const turn = await readTurn({
        ...wanted,
        own: Object.fromEntries(accounts),
        settled: [...claiming, ...settled.keys()],
      });
      part.works();
      after = turn.next?.account_id ?? turn.accounts.at(-1)?.account_id ?? after;
      noteLimits(turn, fullPlatforms);
      return turn;
    } catch (error) {
      away.set('postgres', true);
      part.failed('a look', error);
      return noTurn;
    }
  }

  function noteLimits({ accounts: waiting, next }: Turn, fullPlatforms: readonly string[]): void {
    const limited = waiting.filter(({ in_progress: inProgress }) => inProgress >= maxJobsPerAccount);
    for (const { account_id: accountId } of limited) limitedAt.set(accountId, now());
    if (limited.length > 0) heldBack?.('account');
    if (!next && fullPlatforms.length > 0 && waiting.length > limited.length) heldBack?.('platform');
  }

  function take(
    job: Pick<Chosen, 'message' | 'jobRevision' | 'isHint'>,
    { accountId, platform }: Pick<QueuedJob, 'accountId' | 'platform'>,
  ): Chosen {
    const name = nameOf(job.message.token, job.jobRevision);
    add(accounts, accountId, 1);
    add(platforms, platform, 1);
    claiming.add(name);
    return {
      ...job,
      settle: () => void settled.set(name, true),
      giveBack: () => {
        add(accounts, accountId, -1);
        add(platforms, platform, -1);
        claiming.delete(name);
      },
    };
  }

  /** The job that the read model puts next. */
  function takeNext({ next }: Turn): Chosen | undefined {
    if (!next) return undefined;
    const { token, usage_stream: usageStream, usage_revision: usageRevision, revision: jobRevision } = next;
    const message = { token, usageStream, usageRevision };
    return take({ message, jobRevision, isHint: false }, { accountId: next.account_id, platform: next.platform });
  }

  /** The job that the message names, if its account and its platform have room. */
  async function takeHint({ received, queued: reading }: Hint, accountId: string, inProgress: number) {
    const { message, jobRevision } = received;
    if (inProgress >= maxJobsPerAccount) {
      limitedAt.set(accountId, now());
      heldBack?.('account');
      return undefined;
    }
    const queued = await reading;
    if (!queued) return undefined;
    if ((platforms.get(queued.platform) ?? 0) >= maxJobsPerPlatform) {
      limitedAt.set(accountId, now());
      heldBack?.('platform');
      return undefined;
    }
    after = accountId;
    return take({ message, jobRevision, isHint: true }, queued);
  }

  function stateOf({ message, jobRevision }: ReceivedJob, { named }: Turn): HintState {
    const row = named?.row;
    const name = nameOf(message.token, jobRevision);
    if (claiming.has(name) || settled.has(name)) return { state: 'known' };
    if (!row || row.revision < (jobRevision ?? -1)) return { state: 'unknown' };
    if (row.status !== 'queued' || row.not_before === null) return { state: 'known' };
    const notBefore = new Date(row.not_before).toISOString();
    return notBefore > now() ? { state: 'early', notBefore } : { state: 'known' };
  }

  async function chooseAlone(hint: Hint | undefined, preferHint: boolean) {
    const accountId = hint && (readUsageStreamName(hint.received.message.usageStream)?.accountId ?? '');
    const turn = await look(hint && { token: hint.received.message.token, accountId: accountId ?? '' });
    if (!hint || accountId === undefined) return { chosen: takeNext(turn), hint: { state: 'known' } as const };
    const state = stateOf(hint.received, turn);
    const inProgress = turn.named?.in_progress ?? accounts.get(accountId) ?? 0;
    const isFair = preferHint || !turn.next || inProgress <= turn.next.in_progress;
    const named = state.state === 'unknown' && isFair ? await takeHint(hint, accountId, inProgress) : undefined;
    return { chosen: named ?? takeNext(turn), hint: state };
  }

  return {
    /** @param preferHint the rows were found to be behind: they have less to say than the message */
    choose: (hint: Hint | undefined, preferHint = false): Promise<{ chosen: Chosen | undefined; hint: HintState }> => {
      const choosing = lastLook.then(() => chooseAlone(hint, preferHint));
      lastLook = choosing.catch(() => undefined);
      return choosing;
    },
    /** Whether a job was queued before its account was last seen at its limit. */
    wasHeldBack: ({ accountId, queuedAt }: QueuedJob): boolean => (limitedAt.get(accountId) ?? '') > queuedAt,
  };
}

const nameOf = (token: string, jobRevision: number | undefined) => `${token}:${String(jobRevision)}`;

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
