import { z } from 'zod';
import { cents } from './cents.ts';
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

/** A key that asks for something, and when, UTC ISO-8601. */
export interface AskingKey {
  id: string;
  at: string;
}

/** True from the instant on that the owner has set as the key's end. */
export function isExpired({ key_limits: limits }: { key_limits?: KeyLimits }, { id, at }: AskingKey): boolean {
  const until = limits?.[id]?.until ?? null;
  return until !== null && at >= until;
}
