import { expect } from 'vitest';
import { Period } from '../../src/audit/rules/period.ts';
import {
  type ChargeCommand,
  type Charges,
  decideCharge,
  evolveCharges,
  newCharges,
} from '../../src/domain/change-charge.ts';
import { decideUsage, type UsageCommand } from '../../src/domain/decide-usage.ts';
import { evolveUsage } from '../../src/domain/evolve-usage.ts';
import type { Terms } from '../../src/domain/plans.ts';
import { isRefused, type Refused } from '../../src/domain/refusals.ts';
import type { UsageEvent } from '../../src/domain/usage-events.ts';
import type { UsagePeriod } from '../../src/domain/usage-state.ts';
import { accountId, given, idOf, opened } from '../domain/usage-examples.ts';
import { linkOf } from './link-of.ts';

export const owner = { type: 'owner', id: 'per_aaaaaaaaaaaaaaaa' };
export const staff = { type: 'staff', id: 'maria', role: 'operator' };
const service = { type: 'system', id: 'service-failures' };

export interface By {
  actor?: object;
  time?: string;
  /** Fields that the log has in place of those that were decided. Undefined: it lacks them. */
  lie?: object;
}

/** A billing period in November 2026 that the domain decides, beside the audit's account of it. */
export class PeriodOfDomain {
  readonly audited: Period;
  usage: UsagePeriod;
  #charges: Charges = newCharges();
  #revision = -1;
  #told: string[] = [];

  constructor(terms: Partial<Terms> = {}) {
    const report = ({ rule, field, expected }: { rule: string; field: string; expected: unknown }) =>
      this.#told.push(`${rule} ${field} ${String(expected)}`);
    this.audited = new Period(`usage-${accountId}-20261101`, accountId, report);
    const opening = opened(terms);
    this.usage = given(opening);
    expect(this.stored([opening])).toEqual([]);
  }

  /** @returns what the audit says of the events: the rule, the field and what it expects */
  decided(command: UsageCommand, by: By = {}): string[] {
    const { actor = owner, time = noon } = by;
    const { type, id } = actor as { type: string; id: string };
    const key = type === 'api_key' ? { id, at: time } : undefined;
    return this.stored(decideUsage(this.usage, command, { key, isByOwner: type === 'owner' }), by);
  }

  /** A change of a charge, by the service unless it says so. */
  corrected(command: ChargeCommand, by: By = {}): string[] {
    return this.stored(decideCharge(this.#charges, command), { actor: service, ...by });
  }

  /** Events of one append; a lie is told in the first. */
  stored(events: readonly UsageEvent[] | Refused, { actor = owner, time = noon, lie = {} }: By = {}): string[] {
    if (isRefused(events)) throw new Error(events.refusal);
    this.#told = [];
    for (const [index, event] of events.entries()) {
      this.#revision += 1;
      const [revision, id] = [this.#revision, idOf(this.#revision)];
      this.usage = evolveUsage(this.usage, event) as UsagePeriod;
      this.#charges = evolveCharges(this.#charges, event, { id, revision });
      const data = index === 0 ? { ...event.data, ...lie } : event.data;
      this.audited.time = time;
      this.audited.check(
        linkOf(event.type, { stream: this.audited.stream, revision, id, data, metadata: { actor, time } }),
      );
    }
    return this.#told;
  }
}

const noon = '2026-11-10T12:00:00.000Z';
