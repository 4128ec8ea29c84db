import { isDeepStrictEqual } from 'node:util';
import { notBelieved } from '../../projections/credits-macs.ts';
import type { Checkpoint } from '../../projections/runner/checkpoints.ts';
import { sleep } from '../../src/async/sleep.ts';
import type { PendingVoid, PendingVoids } from '../../src/ports/billing.ts';
import type { Network } from './event-log-client.ts';
import type { ReadModels } from './read-models.ts';

/** Postgres: tables in memory. Each statement is atomic; it may fail, come late, or be committed without an answer. */
export class Postgres {
  readonly readModels: ReadModels;
  readonly pendingVoids = new Map<string, PendingVoid>();
  /** The gates that a closing has shut, by usage stream. */
  readonly closings = new Set<string>();
  readonly serviceFailures = new Set<string>();
  readonly checkpoints = new Map<string, Checkpoint | undefined>();
  /** By the id of the mail. */
  readonly mailClaims = new Map<string, { by: string; atMs: number; isTaken: boolean }>();
  /** When each worker has beaten last. */
  readonly heartbeats = new Map<string, number>();
  /** Nobody reaches it until then. */
  awayUntilMs = 0;
  /** When a statement has failed or was late, or a row was not believed. */
  readonly troublesMs: number[] = [];
  readonly #network: Pick<Network, 'happens' | 'delayMs'>;

  constructor(readModels: ReadModels, network: Pick<Network, 'happens' | 'delayMs'>) {
    this.readModels = readModels;
    this.#network = network;
  }

  async statement<Value>(work: (postgres: Postgres) => Value): Promise<Value> {
    const { happens, delayMs } = this.#network;
    await sleep(this.isTrouble(happens('statement_late')) ? delayMs(20, 6_000) : delayMs(0, 6));
    if (this.isTrouble(performance.now() < this.awayUntilMs || happens('statement_fails'))) throw new PostgresFailed();
    const result = work(this);
    if (this.isTrouble(happens('outcome_unknown'))) throw new PostgresFailed();
    await sleep(this.isTrouble(happens('answer_late')) ? delayMs(20, 6_000) : delayMs(0, 3));
    return result;
  }

  /** A row as it is read, unless it has no valid MAC. */
  believed<Row>(row: Row): Row | typeof notBelieved {
    return this.isTrouble(this.#network.happens('row_not_believed')) ? notBelieved : row;
  }

  isTrouble(fails: boolean): boolean {
    if (fails) this.troublesMs.push(performance.now());
    return fails;
  }
}

class PostgresFailed extends Error {
  override readonly name = 'PostgresFailed';
  readonly code = 'ECONNRESET';
}

/** As the table `pending_voids` and its statements: see src/adapters/postgres/pending-voids.ts. */
export function pendingVoidsOf(
  postgres: Pick<Postgres, 'statement'>,
  { now, process }: { now: () => string; process: string },
): PendingVoids {
  return {
    add: async (append, charge) => {
      const promised = { ...charge, promised: { process, at: now() }, mac: '' };
      return await postgres.statement(({ closings, pendingVoids }) => {
        if (closings.has(append.stream)) return false;
        const id = append.events[0]?.id ?? '';
        const voids = [...(pendingVoids.get(id)?.voids ?? []), promised];
        pendingVoids.set(id, { append: pendingVoids.get(id)?.append ?? append, voids });
        return true;
      });
    },
    list: (limit) => postgres.statement(({ pendingVoids }) => [...pendingVoids.values()].slice(0, limit)),
    remove: ({ append, voids }) =>
      postgres.statement(({ pendingVoids }) => {
        const id = append.events[0]?.id ?? '';
        const row = pendingVoids.get(id);
        if (!row) return;
        const kept = row.voids.filter((charge) => !voids.some((one) => isDeepStrictEqual(one, charge)));
        if (kept.length === 0) pendingVoids.delete(id);
        else pendingVoids.set(id, { append: row.append, voids: kept });
      }),
  };
}
