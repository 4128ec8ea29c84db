import { z } from 'zod';
import { cents } from './cents.ts';
import { keyLimits } from './key-limits.ts';

/** Far beyond any plan, and within the range of the tables' columns. */
export const largestAllowance = 1_000_000_000;
export const largestHourlyLimit = 10_000;
/** The limit if neither the plan file nor an older event names one. */
export const largestMaxKeys = 1_000;
const allowance = z.int().min(0).max(largestAllowance);

/** The terms that an account has bought. They are frozen into its usage stream, so editing the plan file changes no bill. */
export const planTerms = z.strictObject({
  plan: z.string().regex(/^[a-z][a-z0-9_]{0,31}$/),
  downloads_limit: allowance,
  metadata_limit: allowance,
  /** Price of one download beyond the allowance; null: the allowance is a hard cap. */
  overage_cents: cents.min(1).nullable(),
  /** Names the price list that `overage_cents` comes from. */
  rate_version: z.string().min(1).max(64),
  /** Monthly fee. */
  fee_cents: cents,
  hourly_limit: z.int().min(1).max(largestHourlyLimit),
  /** Most active API keys, and most keys issued in an hour, because each has its own hourly limit. Missing in older events. */
  max_keys: z.int().min(1).max(largestMaxKeys).optional(),
  /** The owner is warned when a pool's use reaches these percentages of its limit. */
  warning_percents: z.array(z.int().min(1).max(100)).max(10),
  /** Gives back downloads that the service has failed. Missing in older events, where it is on. */
  service_failures_returned: z.boolean().default(true),
});
export type PlanTerms = z.infer<typeof planTerms>;

export const maxKeysOf = ({ max_keys }: PlanTerms): number => max_keys ?? largestMaxKeys;

/** The plan's terms, and what an account has besides its plan. */
export const terms = planTerms.extend({
  /** The cap that the account's owner has put on overage charges; null: none. */
  overage_cap_cents: cents.nullable(),
  /** Nothing is charged, no fee either. Missing if the account is not suspended. */
  suspended: z.literal(true).optional(),
  key_limits: keyLimits,
});
export type Terms = z.infer<typeof terms>;

/** The terms without what is the account's own. */
export function planOf({
  overage_cap_cents: _cap,
  suspended: _suspended,
  key_limits: _limits,
  ...plan
}: Terms): PlanTerms {
  return plan;
}

/** The fee of a period that opens with these terms, in cents. */
export const feeOf = ({ suspended, fee_cents }: Pick<Terms, 'suspended' | 'fee_cents'>): number =>
  suspended ? 0 : fee_cents;

/** The plan file. Its terms count only when a plan is chosen. */
const planFile = z.strictObject({
  rate_version: planTerms.shape.rate_version,
  warning_percents: planTerms.shape.warning_percents.default([80, 100]),
  plans: z
    .array(
      planTerms.omit({ rate_version: true, warning_percents: true }).extend({
        name: z.string().min(1),
        note: z.string().optional(),
        /** Owners may change to it by themselves. Otherwise staff put an account on it, once it is agreed. */
        self_service: z.boolean().default(true),
        max_keys: planTerms.shape.max_keys.default(largestMaxKeys),
      }),
    )
    .min(1)
    .refine((plans) => new Set(plans.map((plan) => plan.plan)).size === plans.length, 'a plan is named twice'),
});

export type PlanCatalogue = ReadonlyMap<string, PlanTerms>;

/** What plans are called to people, by their ids. */
export type PlanNames = ReadonlyMap<string, string>;

/** A plan that is offered no more is called by its id. */
export const planName = (plan: string, names: PlanNames): string => names.get(plan) ?? plan;

export interface OfferedPlans {
  plans: PlanCatalogue;
  planNames: PlanNames;
  /** Names of those that owners may change to by themselves. */
  selfServicePlans: ReadonlySet<string>;
}

/**
 * @param file parsed JSON of the plan file
 * @throws {z.ZodError} naming the field at fault
 */
export function readPlanFile(file: unknown): OfferedPlans {
  const { rate_version, warning_percents, plans } = planFile.parse(file);
  return {
    plans: new Map(
      plans.map(({ name: _name, note: _note, self_service: _selfService, ...plan }) => [
        plan.plan,
        planTerms.parse({ ...plan, rate_version, warning_percents }),
      ]),
    ),
    planNames: new Map(plans.map(({ plan, name }) => [plan, name])),
    selfServicePlans: new Set(plans.filter((plan) => plan.self_service).map(({ plan }) => plan)),
  };
}
