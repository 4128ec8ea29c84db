import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import type { PlanCatalogue, PlanTerms } from '../../domain/plans.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';

/** The settings by which both the service and commands decide, as the process last started keeps them in Postgres. */

/**
 * Each is kept by the role that decides by it: the dispatcher closes books, the API's consoles offer plans. While the processes of
 * a role are replaced one by one, the last one started wins.
 */
export async function keepSettings(pool: Pool, config: Config, role: string): Promise<void> {
  if (role === 'dispatcher' || role === 'all')
    await pool.query('update installation set closing_grace_seconds = $1', [config.CLOSING_GRACE_SECONDS]);
  if (role === 'api' || role === 'all')
    await pool.query('update installation set plans = $1', [JSON.stringify(Object.fromEntries(config.plans))]);
}

/** How long after its end a period still takes corrections. @throws {ConfigurationRefused} if the service closes by another time */
export async function sharedGraceSeconds(pool: Pool, { CLOSING_GRACE_SECONDS: own }: Config): Promise<number> {
  const { rows } = await pool.query<{ kept: number | null }>('select closing_grace_seconds as kept from installation');
  const kept = rows[0]?.kept ?? own;
  if (kept === own) return own;
  throw new ConfigurationRefused(
    `CLOSING_GRACE_SECONDS is ${String(own)} for this command, and ${String(kept)} for the dispatcher that was started last. ` +
      'Nothing was changed. Set both to the same value.',
  );
}

/** The plans. @throws {ConfigurationRefused} if the service offers others, naming the first difference */
export async function sharedPlans(pool: Pool, { plans: own, PLANS_FILE: file }: Config): Promise<PlanCatalogue> {
  const { rows } = await pool.query<{ kept: Record<string, PlanTerms> | null }>(
    'select plans as kept from installation',
  );
  const kept = rows[0]?.kept;
  const difference = kept && differenceOf(own, new Map(Object.entries(kept)));
  if (!difference) return own;
  throw new ConfigurationRefused(
    `PLANS_FILE: ${file} is not what the API that was started last runs with: ${difference}. Nothing was changed. ` +
      'Set PLANS_FILE to the file of the service, or start the API with this one first.',
  );
}

function differenceOf(own: PlanCatalogue, kept: PlanCatalogue): string | undefined {
  for (const plan of new Set([...own.keys(), ...kept.keys()])) {
    const [here, there] = [own.get(plan), kept.get(plan)];
    if (!here || !there)
      return `it has ${here ? 'a' : 'no'} plan "${plan}", and the API's has ${there ? 'one' : 'none'}`;
    const field = fieldsOf(here, there).find((name) => !isDeepStrictEqual(here[name], there[name]));
    if (field !== undefined)
      return `its plan "${plan}" has ${field} ${JSON.stringify(here[field])}, and the API's has ${JSON.stringify(there[field])}`;
  }
  return undefined;
}

const fieldsOf = (...terms: PlanTerms[]) => [...new Set(terms.flatMap(Object.keys))] as (keyof PlanTerms)[];
