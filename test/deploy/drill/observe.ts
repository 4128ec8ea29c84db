/**
 * Says what the Prometheus of a running deployment sees, and fails unless every process of every role is up and every rule is
 * evaluated. By hand:
 *
 *     scale='--scale api=2 --scale projector=2 --scale dispatcher=2 --scale worker=2'
 *     $DRILL_COMPOSE --profile observe up --detach --wait $scale api projector dispatcher worker prometheus
 *     node test/deploy/drill/observe.ts --each 2
 *
 * DRILL_COMPOSE: the command for `docker compose` with its files, as for kill-each.ts.
 */

import process from 'node:process';
import { parseArgs } from 'node:util';
import { roles } from '../../../src/main/roles/role.ts';
import { waitFor } from '../../support/wait-for.ts';
import { alerts, recordings } from '../rules.ts';
import { compose } from './run-compose.ts';

const { values: flags } = parseArgs({ options: { each: { type: 'string', default: '1' } } });
const each = Number(flags.each);

interface Target {
  labels: { role?: string; instance: string };
  health: string;
  lastError: string;
}

interface Rule {
  name: string;
  type: string;
  health: string;
  lastError?: string;
}

/** Asked from a container of the API: Prometheus has no port outside the network. */
async function ask<Answer>(path: string): Promise<Answer> {
  const program = `fetch('http://prometheus:9090/api/v1/${path}').then((a) => a.text()).then((text) => console.log(text))`;
  return (JSON.parse(await compose('exec', '-T', 'api', 'node', '-e', program)) as { data: Answer }).data;
}

const targetsUp = async () => {
  const { activeTargets } = await ask<{ activeTargets: Target[] }>('targets');
  const isUp = (role: string) => activeTargets.filter(({ labels, health }) => labels.role === role && health === 'up');
  return roles.every((role) => isUp(role).length === each) && activeTargets;
};
const rulesEvaluated = async () => {
  const { groups } = await ask<{ groups: { rules: Rule[] }[] }>('rules');
  const rules = groups.flatMap((group) => group.rules);
  return rules.every(({ health }) => health !== 'unknown') && rules;
};

const wait = { timeoutMs: 120_000, pollMs: 2_000 };
const targets = await waitFor(targetsUp, { ...wait, what: `${each} processes of each role to be up` });
for (const { labels, health } of targets) console.log(`${labels.role ?? ''} ${labels.instance} ${health}`);
const rules = await waitFor(rulesEvaluated, { ...wait, what: 'every rule to be evaluated' });
const failed = rules.filter(({ health }) => health !== 'ok');
for (const { name, lastError } of failed) console.log(`${name}: ${lastError ?? ''}`);
const expected = alerts.length + recordings.length;
console.log(`${targets.length} targets are up; ${rules.length - failed.length} of ${expected} rules are evaluated.`);
process.exitCode = failed.length > 0 || rules.length !== expected ? 1 : 0;
