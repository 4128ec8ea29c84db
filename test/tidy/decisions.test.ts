import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from './source-files.ts';

it('docs/decisions/README.md has every decision once, by its title, and says which are superseded', () => {
  const read = (name: string): string => readFileSync(join(root, 'docs/decisions', name), 'utf8');
  const records = readdirSync(join(root, 'docs/decisions')).filter((name) => name !== 'README.md');
  const lines = records.map((name) => {
    const [, title = ''] = /^# (.+)$/m.exec(read(name)) ?? [];
    const [, later] = /^(?:Superseded|\*\*Superseded\*\*) by \[decision (\d+)\]/m.exec(read(name)) ?? [];
    return `- [${title}](${name})${later === undefined ? '' : `; superseded by decision ${later}`}`;
  });
  const index = read('README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '));
  expect(index.sort()).toEqual(lines.sort());
});
