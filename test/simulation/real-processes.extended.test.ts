import { expect, it } from 'vitest';
import { planFile } from '../support/plans.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import { plantedBugs } from './planted-bugs.ts';
import { runRealHistory } from './real-history.ts';
import { killsOf } from './real-processes.ts';

/** Other histories in each run. A seed draws the same clients and the same points again; what meets there is the machine's. */
const first = Number(process.env['PROOF_SEED'] ?? 1);
const wantedKills = scaled(4, 300);
const mostKillsOfOne = 100;

const small = { plan: 'small', downloads_limit: 10, metadata_limit: 5, overage_cents: 25, fee_cents: 900 };
const large = { plan: 'large', downloads_limit: 100, metadata_limit: 50, fee_cents: 1_900 };
const hourly = { hourly_limit: 10_000 };
const plansFile = planFile(hourly, { ...small, ...hourly }, { ...large, ...hourly });

it('no kill of a real process breaks a promise', async () => {
  let kills = 0;
  for (let seed = first; kills < wantedKills; seed += 1) {
    const wanted = Math.min(wantedKills - kills, mostKillsOfOne);
    const { trace, ...history } = await runRealHistory(seed, { kills: wanted, clients: 20, plansFile });
    kills += killsOf(history);
    if (isLongProof) console.log(`real processes: ${JSON.stringify(history)}`);
    expect(history.violations, `seed ${String(seed)}\n${trace.join('\n')}`).toEqual([]);
  }
});

it.runIf(isLongProof)('a bug in the real processes is found', async () => {
  const edits = plantedBugs.find(({ name }) => name === 'probe-after-debit')?.edits;
  const { violations, trace } = await runRealHistory(first, { kills: 1, clients: 40, plansFile, edits });
  expect(
    violations.map(({ rule }) => rule),
    trace.join('\n'),
  ).toContain('refused_is_not_charged');
});
