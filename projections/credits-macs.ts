import canonicalize from 'canonicalize';
import type { UsageSnapshot } from '../src/domain/usage-state.ts';
import type { RowMacs } from '../src/ports/row-macs.ts';

/** The result of checking a row of `credits`: its state, or `notBelieved` for a row that this installation has not written. */
export const notBelieved = 'not believed';
export type NotBelieved = typeof notBelieved;

/**
 * The MAC of a row of `credits` covers its state, in an order of fields that does not depend on Postgres. Most of a state is the
 * same as at the revision before, so the text of an object (the terms) is made once.
 */
export class CreditsMacs {
  readonly #macs: RowMacs;
  readonly #texts = new WeakMap<object, string>();
  readonly #names = new Map<string, readonly string[]>();

  constructor(macs: RowMacs) {
    this.#macs = macs;
  }

  sign(snapshot: UsageSnapshot): string {
    return this.#macs.sign('credits', this.#textOf(snapshot));
  }

  /** The state, if this installation has written it. @param accountId of the row, for log lines */
  believed({ snapshot, mac }: SignedUsage, accountId: string): UsageSnapshot | NotBelieved {
    const row = { table: 'credits', name: accountId, text: this.#textOf(snapshot), mac } as const;
    return this.#macs.verifies(row) ? snapshot : notBelieved;
  }

  #textOf({ stream, revision, lastHash, lastTime, usage }: UsageSnapshot): string {
    const names = this.#sortedNames(usage, hasKeyUse(usage));
    const fields = usage as unknown as Readonly<Record<string, unknown>>;
    const values: unknown[] = [stream, revision, lastHash, lastTime];
    for (const name of names) {
      const value = fields[name];
      values.push(isObject(value) ? this.#objectText(value) : value);
    }
    return `${names.join()}\n${JSON.stringify(values)}`;
  }

  /** Sorted once for each order of the fields of a state. */
  #sortedNames(usage: object, withKeyUse: boolean): readonly string[] {
    const names = Object.keys(usage).filter((name) => withKeyUse || name !== 'keyUse');
    const order = names.join();
    const known = this.#names.get(order);
    if (known) return known;
    names.sort();
    this.#names.set(order, names);
    return names;
  }

  #objectText(value: object): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    const text = canonicalize(value) ?? '';
    this.#texts.set(value, text);
    return text;
  }
}

/** The state in a row, and the row's MAC. */
export interface SignedUsage {
  snapshot: UsageSnapshot;
  mac: string | null;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A state in which no key has used a limit has the text that it had in versions without such limits. */
const hasKeyUse = (usage: UsageSnapshot['usage']): boolean =>
  usage.phase !== 'absent' && Object.keys(usage.keyUse).length > 0;
