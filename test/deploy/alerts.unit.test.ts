import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { whyNoPromtool } from '../support/promtool.ts';
import { temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { codeIn, sections, tableOf } from '../tidy/markdown.ts';
import { root } from '../tidy/source-files.ts';
import { type Fault, faults, healthy } from './faults.ts';
import { readExpression } from './promql.ts';
import { type Alert, alerts, recordings, ruleFiles } from './rules.ts';

const titles = (path: string) => sections(path).map(({ title }) => title);
const runbooks = 'docs/runbooks.md';
/** Sections that stand for a theme, with the alerts below them. */
const themes = ['Runbooks', 'Money', 'API', 'Jobs', 'Read models', 'Processes and servers', 'Files', 'Workers'];

describe('the rules in deploy/alerts', () => {
  it.each([...alerts, ...recordings].map((rule) => ['alert' in rule ? rule.alert : rule.record, rule.expr]))(
    '%s is an expression of Prometheus',
    (_, expression) => {
      const { errors, selected } = readExpression(expression);
      expect(errors).toEqual([]);
      expect(selected).not.toEqual([]);
    },
  );

  it('have names of their own', () => {
    const names = [...alerts.map(({ alert }) => alert), ...recordings.map(({ record }) => record)];
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it.each(alerts.map((alert) => [alert.alert, alert]))(
    '%s says how severe it is, and where its runbook is',
    (name, alert) => {
      expect(['page', 'ticket']).toContain(alert.labels.severity);
      expect(alert.for).toMatch(/^\d+[mh]$/);
      expect(alert.annotations.summary).toMatch(/^\S.{10,140}[^.]$/);
      expect(alert.annotations.runbook_url).toBe(`${runbooks}#${name.toLowerCase()}`);
      // A label in the text that the result does not have would be an empty place.
      const shown = [...alert.annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      const { selected } = readExpression(alert.expr);
      const known = new Set(['instance', ...selected.flatMap(({ labels }) => [...labels])]);
      expect(shown.filter((label) => !known.has(label ?? ''))).toEqual([]);
    },
  );

  it('have a runbook each, in the same order, and no runbook is without its alert', () => {
    const documented = titles(runbooks).filter((title) => ![...themes, 'Service levels'].includes(title));
    expect(documented.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });

  it('have runbooks that say what it means, what to look at first, and what to do', () => {
    const parts = sections(runbooks)
      .filter(({ title }) => alerts.some(({ alert }) => alert === title))
      .filter(({ text: [meaning = '', first = '', action = '', ...more] }) => {
        const isFull = meaning.length > 30 && /^\*Look first:\* ./.test(first) && /^\*Do:\* ./.test(action);
        return !isFull || more.length > 0;
      });
    expect(parts.map(({ title }) => title)).toEqual([]);
  });
});

describe('docs/watching.md', () => {
  it('has in its table the time of every alert, and no alert that does not exist', () => {
    const seen = tableOf('docs/watching.md', 'Faults made to happen').map((row) => codeIn(row['alert']));
    expect([...new Set(seen)].sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });
});

describe('docs/service-levels.md', () => {
  const objectives = tableOf('docs/service-levels.md', 'Objectives').map((row) => ({
    name: codeIn(row['name']),
    recorded: codeIn(row['share of bad events over a window']).replace('…', ''),
    budget: 1 - Number(/[\d.]+/.exec(row['objective'] ?? '')?.[0]) / 100,
  }));
  const rates = tableOf('docs/service-levels.md', 'Burn rates').map((row) => ({
    rate: Number(row['burn rate']),
    long: row['long window'] ?? '',
    short: row['short window'] ?? '',
    used: row['budget used by then'],
    gone: row['budget gone after'],
    severity: codeIn(row['severity']),
  }));
  const hours = (window: string) =>
    Number.parseInt(window) * { m: 1 / 60, h: 1, d: 24 }[window.at(-1) as 'm' | 'h' | 'd'];

  it('computes what each rate uses up of a budget of 30 days', () => {
    for (const { rate, long, used, gone } of rates) {
      expect(used).toBe(`${Math.round((rate * hours(long) * 100) / 720)} %`);
      expect(gone).toBe(`${720 / rate} h`);
    }
  });

  it('has the objectives and rates of the rules', () => {
    const expected = objectives.flatMap(({ name, recorded, budget }) =>
      ['page', 'ticket'].flatMap((severity) => {
        const over = (rate: number, window: string) => `${recorded}${window} > ${rate} * ${Number(budget.toFixed(6))}`;
        const lines = rates
          .filter((each) => each.severity === severity)
          .map(({ rate, long, short }) => `(${over(rate, long)} and ${over(rate, short)})`);
        const suffix = severity === 'page' ? 'FastBurn' : 'SlowBurn';
        return { alert: name + suffix, severity, expr: `${lines.join('\nor ')}\n` };
      }),
    );
    const ruled = alerts
      .filter(({ expr }) => expr.includes(':ratio_'))
      .map(({ alert, expr, labels: { severity } }) => ({ alert, severity, expr }));
    expect(ruled).toEqual(expected);
  });

  it('has every recorded share for one of its windows, and no share for another', () => {
    const used = alerts.flatMap(({ expr }) => expr.match(/reeltally:\w+:ratio_\w+/g) ?? []);
    const recorded = recordings.map(({ record }) => record).filter((name) => name.includes(':ratio_'));
    expect(recorded.sort()).toEqual([...new Set(used)].sort());
  });

  it('records each share over the window in its name', () => {
    const wrong = recordings.filter(({ record, expr }) => {
      const [, window = ''] = /:ratio_(\w+)$/.exec(record) ?? [];
      const windows = [...expr.matchAll(/\[(\w+)\]/g)].map(([, each]) => each);
      return windows.some((each) => each !== window) || (window !== '' && windows.length === 0);
    });
    expect(wrong).toEqual([]);
  });
});

/** Without it the expressions are still parsed, by the tests above. */
describe.skipIf(whyNoPromtool() !== undefined)('promtool', () => {
  const directory = temporaryDirectoryOfFile();
  const promtool = (...words: string[]) => spawnSync('promtool', words, { cwd: root, encoding: 'utf8' });

  it('accepts the rules', () => {
    const { status, stdout, stderr } = promtool('check', 'rules', ...ruleFiles);
    expect(status, stdout + stderr).toBe(0);
  });

  it('accepts deploy/prometheus.yml', () => {
    const { status, stdout, stderr } = promtool('check', 'config', 'deploy/prometheus.yml');
    expect(status, stdout + stderr).toBe(0);
  });

  it.each(alerts.map(({ alert }) => alert))('fires %s on series made for it, and not before its time', (name) => {
    const { series, minutes } = faults[name]!;
    const holdsMinutes = minutesOf(alerts.find(({ alert }) => alert === name)!.for);
    const firing = `count(ALERTS{alertname="${name}",alertstate="firing"})`;
    const at = (evalMinutes: number, isFiring: boolean) => ({
      expr: firing,
      eval_time: `${evalMinutes * 60}s`,
      exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
    });
    const tooEarly = holdsMinutes > 0 ? [at(holdsMinutes - 0.5, false)] : [];
    const rule = alerts.filter(({ alert }) => alert === name);
    runRules(series, rule, [...tooEarly, at(minutes ?? holdsMinutes + 0.5, true)]);
  });

  it('fires none on a service that works', () => {
    runRules(healthy, alerts, [{ expr: 'ALERTS{alertstate="firing"}', eval_time: '90m', exp_samples: [] }]);
  });

  function runRules(series: Fault['series'], watched: Alert[], tests: object[]): void {
    const [file, rules] = ['series.yaml', 'rules.yaml'].map((name) => join(directory, name)) as [string, string];
    const used = watched.some(({ expr }) => expr.includes(':ratio_')) ? recordings : [];
    writeFileSync(rules, stringify({ groups: [{ name: 'watched', rules: [...used, ...watched] }] }));
    const input = Object.entries(series).map(([name, values]) => ({ series: name, values }));
    const run = { interval: '15s', input_series: input, promql_expr_test: tests };
    writeFileSync(file, stringify({ rule_files: [rules], evaluation_interval: '15s', tests: [run] }));
    const { status, stdout, stderr } = promtool('test', 'rules', file);
    expect(status, stdout + stderr).toBe(0);
  }
});

function minutesOf(window: string): number {
  return Number.parseInt(window) * { m: 1, h: 60, d: 1_440 }[window.at(-1) as 'm' | 'h' | 'd'];
}
