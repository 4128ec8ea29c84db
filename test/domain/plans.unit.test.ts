import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { maxKeysOf, planName, planTerms, readPlanFile, terms } from '../../src/domain/plans.ts';
import { plan as older } from './usage-examples.ts';

interface PlanFile {
  rate_version: string;
  plans: Record<string, unknown>[];
}

async function planFile(): Promise<PlanFile> {
  const path = fileURLToPath(new URL('../../deploy/plans.json', import.meta.url));
  return JSON.parse(await readFile(path, 'utf8')) as PlanFile;
}

describe('the plan file that comes with the service', () => {
  it('says what the contract says: hourly limits, prices, allowances and overage rates', async () => {
    const { plans } = readPlanFile(await planFile());
    const rows = [...plans.values()].map((terms) => [
      terms.plan,
      terms.hourly_limit,
      terms.fee_cents,
      terms.downloads_limit,
      terms.metadata_limit,
      terms.overage_cents,
      terms.max_keys,
    ]);
    expect(rows).toEqual([
      ['sandbox', 10, 0, 0, 50, null, 2],
      ['dev_100', 30, 19_00, 100, 500, 25, 5],
      // What the contract does not show of the next and of the last line is this service's assumption.
      ['studio_500', 60, 59_00, 500, 2_500, 18, 20],
      ['scale_2000', 120, 149_00, 2_000, 10_000, 12, 100],
      ['enterprise', 500, 499_00, 10_000, 50_000, 10, 1_000],
    ]);
    expect(new Set([...plans.values()].map(({ rate_version }) => rate_version))).toEqual(new Set(['2026-11']));
  });

  it('has what plans are called to people, and calls others by their ids', async () => {
    const { planNames } = readPlanFile(await planFile());
    expect(['studio_500', 'gone_7'].map((plan) => planName(plan, planNames))).toEqual(['Studio 500', 'gone_7']);
  });

  it('lets owners choose every plan by themselves but the one that is agreed for each account', async () => {
    const { plans, selfServicePlans } = readPlanFile(await planFile());
    expect([...plans.keys()].filter((plan) => !selfServicePlans.has(plan))).toEqual(['enterprise']);
  });

  it('marks the assumptions as such', async () => {
    const { plans } = await planFile();
    expect(plans.filter(({ note }) => String(note).includes('assumption')).map(({ plan }) => plan)).toEqual([
      'studio_500',
      'enterprise',
    ]);
  });
});

it('a plan that says nothing of keys allows a thousand', async () => {
  const { rate_version, plans } = await planFile();
  const { max_keys: _none, ...silent } = plans[1] ?? {};
  expect(readPlanFile({ rate_version, plans: [silent] }).plans.get('dev_100')).toMatchObject({ max_keys: 1_000 });
});

describe('a plan file that cannot be right is refused by the name of the field', () => {
  it.each<[string, Record<string, unknown>]>([
    ['overage_cents', { overage_cents: 0.25 }],
    ['overage_cents', { overage_cents: 0 }],
    ['overage_cents', { overage_cents: '25' }],
    ['overage_cents', { overage_cents: undefined }],
    ['downloads_limit', { downloads_limit: -1 }],
    ['metadata_limit', { metadata_limit: null }],
    ['hourly_limit', { hourly_limit: 0 }],
    ['hourly_limit', { hourly_limit: 10_001 }],
    ['max_keys', { max_keys: 0 }],
    ['max_keys', { max_keys: 1_001 }],
    ['fee_cents', { fee_cents: 1900.5 }],
    ['name', { name: '' }],
    ['plan', { plan: 'Dev 100' }],
    ['plan', { plan: '9dev' }],
    ['plan', { plan: 'dev-100' }],
    ['overage_cent', { overage_cent: 25 }],
    ['self_service', { self_service: 'no' }],
  ])('%s in %j', async (field, change) => {
    const { rate_version, plans } = await planFile();
    const changed = { rate_version, plans: [plans[0], { ...plans[1], ...change }] };
    expect(() => readPlanFile(changed)).toThrow(field);
  });

  it('a plan named twice, no plan at all, no version of the rates', async () => {
    const { rate_version, plans } = await planFile();
    expect(() => readPlanFile({ rate_version, plans: [plans[0], plans[0]] })).toThrow('a plan is named twice');
    expect(() => readPlanFile({ rate_version, plans: [] })).toThrow('plans');
    expect(() => readPlanFile({ plans })).toThrow('rate_version');
  });
});

it('terms of older events, which say nothing of keys, allow a thousand', () => {
  expect(maxKeysOf(older)).toBe(1_000);
  expect(maxKeysOf({ ...older, max_keys: 5 })).toBe(5);
});

it('terms of older events, which say nothing of failures of the service, give them back', () => {
  const { service_failures_returned: _none, ...silent } = older;
  expect(planTerms.parse(silent).service_failures_returned).toBe(true);
});

it('terms have a cap, or say that there is none', () => {
  for (const overage_cap_cents of [null, 0, 500])
    expect(terms.parse({ ...older, overage_cap_cents })).toMatchObject({ overage_cap_cents });
  expect(terms.safeParse(older).success).toBe(false);
});

it('terms are suspended, or say nothing of it', () => {
  const ofAccount = { ...older, overage_cap_cents: null };
  expect(terms.safeParse({ ...ofAccount, suspended: true }).success).toBe(true);
  expect(terms.safeParse({ ...ofAccount, suspended: false }).success).toBe(false);
});

it('a plan file that says nothing of warnings warns at 80 and 100 percent', async () => {
  const { rate_version, plans } = await planFile();
  expect(readPlanFile({ rate_version, plans }).plans.get('dev_100')?.warning_percents).toEqual([80, 100]);
});
