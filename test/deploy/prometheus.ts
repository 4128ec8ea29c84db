import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../../src/embedded/free-port.ts';
import { waitFor } from '../support/wait-for.ts';
import { root } from '../tidy/source-files.ts';
import { ruleFiles } from './rules.ts';

interface FiringAlert {
  labels: Record<string, string>;
  state: 'pending' | 'firing';
}

interface Target {
  /** `host:port`. */
  host: string;
  role: string;
}

export interface Prometheus {
  url: string;
  /** From now on it scrapes these. */
  watch: (targets: readonly Target[]) => void;
  /** An alert fires, with these labels if any are named. */
  isFiring: (name: string, labels?: Readonly<Record<string, string>>) => Promise<boolean>;
  /** The present value of an expression that selects one series; undefined where there is none. */
  valueOf: (expression: string) => Promise<string | undefined>;
  stop: () => Promise<void>;
}

/**
 * A Prometheus with the settings and rules of `deploy`, but for its targets, of which it has none at first. Debian's package
 * `prometheus` has the program.
 *
 * @param options.shortened texts of rules that would take hours, each with another that takes minutes
 */
export async function startPrometheus({
  directory,
  shortened,
}: {
  directory: string;
  shortened: readonly (readonly [rule: string, shorter: string])[];
}): Promise<Prometheus> {
  const rules = ruleFiles.map((file) => readFileSync(file, 'utf8')).join('');
  mkdirSync(join(directory, 'alerts'));
  for (const [index, file] of ruleFiles.entries()) {
    let text = readFileSync(file, 'utf8');
    for (const [rule, shorter] of shortened) text = text.replace(rule, shorter);
    writeFileSync(join(directory, 'alerts', `${index}.yaml`), text);
  }
  const missing = shortened.filter(([rule]) => !rules.includes(rule));
  if (missing.length > 0) throw new Error(`no rule has ${JSON.stringify(missing)}`);
  const deployed = parse(readFileSync(join(root, 'deploy/prometheus.yml'), 'utf8')) as object;
  const targetsFile = join(directory, 'targets.json');
  const watch: Prometheus['watch'] = (targets) => {
    const groups = targets.map(({ host, role }) => ({ targets: [host], labels: { role } }));
    // In one step: Prometheus never reads half a file.
    writeFileSync(`${targetsFile}.new`, JSON.stringify(groups));
    renameSync(`${targetsFile}.new`, targetsFile);
  };
  watch([]);
  const found = [{ job_name: 'reeltally', file_sd_configs: [{ files: [targetsFile] }] }];
  const config = { ...deployed, scrape_configs: found };
  writeFileSync(join(directory, 'prometheus.yml'), stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'series')}`,
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const url = `http://${address}`;
  const ready = () =>
    fetch(`${url}/-/ready`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await waitFor(ready, { what: 'Prometheus' });
  return {
    url,
    watch,
    isFiring: async (name, labels = {}) => {
      const response = await fetch(`${url}/api/v1/alerts`);
      const { data } = (await response.json()) as { data: { alerts: FiringAlert[] } };
      const wanted = Object.entries({ alertname: name, ...labels });
      return data.alerts.some(
        (alert) => alert.state === 'firing' && wanted.every(([label, value]) => alert.labels[label] === value),
      );
    },
    valueOf: async (expression) => {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result[0]?.value[1];
    },
    stop: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}
