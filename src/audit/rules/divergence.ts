import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Rule } from './rules.ts';

/** A place where the log or Postgres differs from the result of the rules. */
export interface Facts {
  rule: Rule;
  /** Null for no account, or an unknown one. */
  account_id: string | null;
  stream: string;
  /** Revision of the event, or of the event behind a row; -1 before the first event of a stream. */
  revision: number;
  /** Field of the event, such as `data.cents`, or of a row, such as `credits.last_hash`. */
  field: string;
  expected: unknown;
  found: unknown;
}

export interface Divergence extends Facts {
  /** The beginning of the hash of the facts: the same facts have the same id in every run. */
  id: string;
  /** These facts were acknowledged. */
  known: boolean;
}

export interface AccountDivergences {
  account_id: string | null;
  new: number;
  known: number;
  /** New ones first, then in the order in which they were found. */
  divergences: Divergence[];
  /** The number of divergences that are not listed. */
  more: number;
}

interface Counts {
  new: number;
  known: number;
}

export type Report = (facts: Facts) => void;

/** Further divergences of an account are only counted, except for the first of each rule, so that no rule is missed. */
const mostListed = 100;
const idDigits = 16;

/** Names a divergence by all its facts, so that another value makes it a new one. */
export function nameOf({ rule, account_id, stream, revision, field, expected, found }: Facts): string {
  return hash('sha256', JSON.stringify([rule, account_id, stream, revision, field, expected, found]));
}

/** Collects the reported divergences, each once. */
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

  /** Finds a listed divergence by its id. */
  find(id: string): Divergence | undefined {
    for (const { divergences } of this.list()) {
      const found = divergences.find((divergence) => divergence.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** All divergences by account, those without an account last. */
  list(): AccountDivergences[] {
    const accounts = [...this.#accounts].sort(([one], [other]) => ((one ?? '~') < (other ?? '~') ? -1 : 1));
    return accounts.map(([account_id, { names, counts, ...of }]) => {
      const divergences = [...of.new, ...of.known];
      return { account_id, ...counts, divergences, more: names.size - divergences.length };
    });
  }
}

/** Converts a value to what JSON would restore, because acknowledged values are read from the log. */
function plain(value: unknown): unknown {
  const text = (_name: string, part: unknown) => (typeof part === 'bigint' ? String(part) : part);
  return JSON.parse(JSON.stringify(value ?? null, text)) as unknown;
}

/** @returns the names of the fields that differ; undefined if none does */
export function differingFields(event: object, expected: object, within: string): string[] | undefined {
  let differing: string[] | undefined;
  for (const name in expected) {
    const value = (expected as Record<string, unknown>)[name];
    const found = valueAt(event, within + name);
    if (found !== value && !isDeepStrictEqual(found, value)) (differing ??= []).push(name);
  }
  return differing;
}

/** A few dozen paths are read from every event. */
const paths = new Map<string, readonly string[]>();

/** @param field the path of the field, such as `data.terms.plan` */
export function valueAt(whole: object, field: string): unknown {
  let names = paths.get(field);
  if (!names) paths.set(field, (names = field.split('.')));
  let value: unknown = whole;
  for (const name of names) value = (Object(value) as Record<string, unknown>)[name];
  return value;
}
