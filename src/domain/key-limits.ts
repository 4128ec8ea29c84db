import { z } from 'zod';
import { cents, formatCents } from './cents.ts';
import { instant } from './instant.ts';

/** Limits that an owner sets for one API key: if it leaks, it costs no more than this. They are terms of the account. */

export const keyId = z.string().regex(/^key_[a-z0-9]{16,32}$/);

/** Null: no limit. `downloads` and `overage_cents` are for one billing period. */
export const keyLimit = z.strictObject({
  downloads: z.int().min(0).max(1_000_000_000).nullable(),
  overage_cents: cents.nullable(),
  /** From this instant on, the key is refused. */
  until: instant.nullable(),
});
export type KeyLimit = z.infer<typeof keyLimit>;

/** Null in all parts: it stands for a limit that is to be removed, and is never stored. */
export const noLimit: KeyLimit = { downloads: null, overage_cents: null, until: null };

/** Each is a part of the terms, which stand in one event. */
export const maxKeyLimits = 1_000;

/** By the id of the key; missing if no key has a limit. */
export const keyLimits = z.record(keyId, keyLimit).optional();
export type KeyLimits = z.infer<typeof keyLimits>;

/** What a key has used of its limit in this billing period, since it was given one. */
export interface KeyUse {
  downloads: number;
  overage_cents: number;
}

export const noUse: KeyUse = { downloads: 0, overage_cents: 0 };

/** @param limit null: none @returns undefined if no key has a limit any more */
export function withKeyLimit(limits: KeyLimits, id: string, limit: KeyLimit | null): KeyLimits {
  const { [id]: _replaced, ...others } = limits ?? {};
  const changed = limit ? { ...others, [id]: limit } : others;
  return Object.keys(changed).length === 0 ? undefined : changed;
}

const dayMs = 86_400_000;

/**
 * @param day the last day on which the key is valid, YYYY-MM-DD
 * @returns `until` of its limit; undefined for 9999-12-31, whose end no instant of an event can name
 */
export function endOfDay(day: string): string | undefined {
  const until = new Date(Date.parse(day) + dayMs).toISOString();
  return keyLimit.shape.until.safeParse(until).success ? until : undefined;
}

/** The last day on which the key is valid, YYYY-MM-DD. @param until of its limit */
export const lastDayOf = (until: string): string => new Date(Date.parse(until) - 1).toISOString().slice(0, 10);

/** What a limit allows, one part each: `100 downloads`, `$5.00 of overage`, `valid through 2026-12-31`. */
export const limitParts = ({ downloads, overage_cents: cents, until }: KeyLimit): string[] => [
  ...(downloads === null ? [] : [`${String(downloads)} downloads`]),
  ...(cents === null ? [] : [`${formatCents(cents)} of overage`]),
  ...(until === null ? [] : [`valid through ${lastDayOf(until)}`]),
];

/** A key that asks for something, and when, UTC ISO-8601. */
export interface AskingKey {
  id: string;
  at: string;
}

/** True from the instant on that the owner has set as the key's end. */
export function isExpired({ key_limits: limits }: { key_limits?: KeyLimits }, { id, at }: AskingKey): boolean {
  const until = limits?.[id]?.until ?? null;
  // Stryker disable next-line ConditionalExpression: nothing is at or after null; the compiler needs to be told
  return until !== null && at >= until;
}
