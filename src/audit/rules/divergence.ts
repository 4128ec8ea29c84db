import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Rule } from './rules.ts';

/** Where the log, or what stands in Postgres, is not what the rules make of it. */
export interface Facts {
  rule: Rule;
  /** Null where it concerns no account, or an unknown one. */
  account_id: string | null;
  stream: string;
  /** Revision of the event, or of the event that a row comes from; -1 before the first of a stream. */
  revision: number;
  /** Field of the event, such as `data.cents`, or of a row, such as `credits.last_hash`. */
  field: string;
  expected: unknown;
  found: unknown;
}

export interface Divergence extends Facts {
  /** The beginning of the hash of the facts: the same facts have the same id in every run. */
  id: string;
  /** The same facts were acknowledged. */
  known: boolean;
}

export interface AccountDivergences {
  account_id: string | null;
  new: number;
  known: number;
  /** In the order in which they were found; new ones first. */
  divergences: Divergence[];
  /** How many more there are than are listed. */
  more: number;
}

interface Counts {
  new: number;
  known: number;
}

export type Report = (facts: Facts) => void;

/** Further divergences of an account are only counted, but for the first of each rule: many rows that differ hide no rule. */
const mostListed = 100;
const idDigits = 16;

/** Names a divergence by all its facts together: an acknowledged one with another value is a new one. */
export function nameOf({ rule, account_id, stream, revision, field, expected, found }: Facts): string {
  return hash('sha256', JSON.stringify([rule, account_id, stream, revision, field, expected, found]));
}

/** Collects what the rules report, each divergence once. */
export class Divergences {
  readonly #acknowledged: ReadonlySet<string>;
  readonly #accounts = new Map<
    string | null,
    { names: Set<string>; counts: Counts; new: Divergence[]; known: Divergence[] }
  >();
  readonly counts: Counts = { new: 0, known: 0 };

  /** @param acknowledged names of divergences that were examined */
  constructor(acknowledged: ReadonlySet<string> = new Set()) {
    this.#acknowledged = acknowledged;
  }

  readonly report: Report = (reported) => {
    const facts = { ...reported, expected: plain(reported.expected), found: plain(reported.found) };
    const name = nameOf(facts);
    let account = this.#accounts.get(facts.account_id);
    if (!account) {
      account = { names: new Set(), counts: { new: 0, known: 0 }, new: [], known: [] };
      this.#accounts.set(facts.account_id, account);
    }
    if (account.names.has(name)) return;
    account.names.add(name);
    const known = this.#acknowledged.has(name);
    const kind = known ? 'known' : 'new';
    this.counts[kind] += 1;
    account.counts[kind] += 1;
    const listed = account[kind];
    const isHidden = listed.length >= mostListed && listed.some(({ rule }) => rule === facts.rule);
    if (!isHidden) listed.push({ id: name.slice(0, idDigits), known, ...facts });
  };

  /** Counts of those that are listed. */
  find(id: string): Divergence | undefined {
    for (const { divergences } of this.list()) {
      const found = divergences.find((divergence) => divergence.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** By account, those without one last. */
  list(): AccountDivergences[] {
    const accounts = [...this.#accounts].sort(([one], [other]) => ((one ?? '~') < (other ?? '~') ? -1 : 1));
    return accounts.map(([account_id, { names, counts, ...of }]) => {
      const divergences = [...of.new, ...of.known];
      return { account_id, ...counts, divergences, more: names.size - divergences.length };
    });
  }
}

/** As JSON gives it back: what was acknowledged is read from the log. */
function plain(value: unknown): unknown {
  const text = (_name: string, part: unknown) => (typeof part === 'bigint' ? String(part) : part);
  return JSON.parse(JSON.stringify(value ?? null, text)) as unknown;
}

/** @returns the names of the fields that are other ones; undefined where all are the same */
export function differingFields(event: object, expected: object, within: string): string[] | undefined {
  let differing: string[] | undefined;
  for (const name in expected) {
    const value = (expected as Record<string, unknown>)[name];
    const found = valueAt(event, within + name);
    if (found !== value && !isDeepStrictEqual(found, value)) (differing ??= []).push(name);
  }
  return differing;
}

/** A few dozen paths are asked for, for every event. */
const paths = new Map<string, readonly string[]>();

/** @param field its name, with those of the parts that it stands in before it, and dots between */
export function valueAt(whole: object, field: string): unknown {
  let names = paths.get(field);
  if (!names) paths.set(field, (names = field.split('.')));
  let value: unknown = whole;
  for (const name of names) value = (Object(value) as Record<string, unknown>)[name];
  return value;
}
