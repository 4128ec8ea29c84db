import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { outageOf } from '../ports/outage.ts';
import type { Outages } from '../ports/outage.ts';
import type { QuotaName } from '../ports/observers.ts';
import { backoffMs } from '../async/backoff.ts';

export interface QuotaDependencies {
  /** Downloads of one account at a time, over all workers. */
  maxJobsPerAccount: number;
  /** Downloads of one platform at a time, in this worker. */
  maxJobsPerPlatform: number;
  /** How many downloads of an account other workers hold, as far as the read model knows. */
  countElsewhere: (accountId: string) => Promise<number>;
  logger: Logger;
  outages?: Outages;
}

/** A place for one download, until it is given back; or the quota that is exhausted. */
type Place = { ok: true; giveBack: () => void } | { ok: false; quota: QuotaName };

export interface Quotas {
  /** Tells cheaply, for every message, if an account is known to have no place left. */
  isFull(accountId: string): boolean;
  /** How many downloads of an account other workers hold; 0 while nobody knows. Never rejects. */
  countElsewhere(accountId: string): Promise<number>;
  /** @param elsewhere the count for its account, if it was begun before */
  take(job: { accountId: string; platform: string }, elsewhere?: Promise<number>): Promise<Place>;
}

/** How long a full account is taken to stay full, and a failed count is not tried again. */
const knownMs = 1_000;
const maxKnown = 10_000;

/**
 * Keeps one account or one platform from taking all slots. The count is exact within this worker. Claims of other workers come
 * from the read model, so workers that claim at the same moment may exceed the quota. While Postgres is away, only this
 * worker's own count applies.
 */
export function createQuotas(dependencies: QuotaDependencies): Quotas {
  const { maxJobsPerAccount, maxJobsPerPlatform } = dependencies;
  // The quota then applies within this worker.
  const outage = outageOf(dependencies, 'the count of downloads of other workers');
  const [accounts, platforms] = [new Map<string, number>(), new Map<string, number>()];
  const full = new LRUCache<string, true>({ max: maxKnown, ttl: knownMs });
  const uncounted = new LRUCache<'postgres', true>({ max: 1, ttl: knownMs });

  async function countElsewhere(accountId: string): Promise<number> {
    if (uncounted.has('postgres')) return 0;
    try {
      const count = await dependencies.countElsewhere(accountId);
      outage.works();
      return count;
    } catch (error) {
      uncounted.set('postgres', true);
      outage.failed('a count', error);
      return 0;
    }
  }

  return {
    isFull: (accountId) => full.has(accountId),
    countElsewhere,
    async take({ accountId, platform }, elsewhere = countElsewhere(accountId)) {
      // Before anything is waited for, so that two slots never take one place.
      const [own, ofPlatform] = [add(accounts, accountId, 1), add(platforms, platform, 1)];
      const giveBack = () => {
        add(accounts, accountId, -1);
        add(platforms, platform, -1);
        full.delete(accountId);
      };
      if (ofPlatform > maxJobsPerPlatform) {
        giveBack();
        return { ok: false, quota: 'platform' };
      }
      if (own > maxJobsPerAccount || own + (await elsewhere) > maxJobsPerAccount) {
        giveBack();
        full.set(accountId, true);
        return { ok: false, quota: 'account' };
      }
      return { ok: true, giveBack };
    },
  };
}

function add(counts: Map<string, number>, name: string, change: 1 | -1): number {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
  return count;
}

/** 1 s, 2 s, 4 s … up to 15 s, so that each waiting message comes only a few times a minute. */
export const quotaDelayMs = (deliveries: number): number =>
  backoffMs(deliveries, { firstMs: 1_000, longestMs: 15_000 });
