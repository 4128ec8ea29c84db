import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rules } from '../../src/audit/rules/rules.ts';
import { root } from './source-files.ts';

it('lists every rule of the audit in docs/audit.md', () => {
  const text = readFileSync(join(root, 'docs/audit.md'), 'utf8');
  const listed = [...text.matchAll(/^\| `([a-z_]+)` \| (.+) \|$/gm)].map(([, name, asks]) => [name, asks]);
  expect(Object.fromEntries(listed)).toEqual(rules);
});
