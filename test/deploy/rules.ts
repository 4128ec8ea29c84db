import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../tidy/source-files.ts';

export interface Alert {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

interface Recording {
  record: string;
  expr: string;
}

interface RuleGroup {
  name: string;
  rules: (Alert | Recording)[];
}

const rulesDirectory = join(root, 'deploy/alerts');

export const ruleFiles = readdirSync(rulesDirectory).map((name) => join(rulesDirectory, name));

/** The rules of `deploy/alerts`. */
const ruleGroups: RuleGroup[] = ruleFiles.flatMap(
  (file) => (parse(readFileSync(file, 'utf8')) as { groups: RuleGroup[] }).groups,
);

const rules = ruleGroups.flatMap((group) => group.rules);
export const alerts = rules.filter((rule) => 'alert' in rule);
export const recordings = rules.filter((rule) => 'record' in rule);
