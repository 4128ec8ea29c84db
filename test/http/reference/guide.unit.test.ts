import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPlanFile } from '../../../src/domain/plans.ts';
import { planRows, readGuide } from '../../../src/http/reference/guide.ts';
import { sections, tableOf } from '../../tidy/markdown.ts';
import { root } from '../../tidy/source-files.ts';

const { plans } = readPlanFile(JSON.parse(readFileSync(join(root, 'deploy/plans.json'), 'utf8')));

const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

/** As a reader sees it, without marks. */
const shown = (markdown: string) =>
  onOneLine(
    markdown
      .replaceAll(/`+/g, '')
      .replaceAll('**', '')
      .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'),
  );

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
const seen = (html: string) =>
  onOneLine(
    html
      .replaceAll(/<\/t[dh]>/g, ' ')
      .replaceAll(/<[^>]+>/g, '')
      .replaceAll(/&([\w#]+);/g, (whole, name: string) => entities[name] ?? whole),
  );

describe('the guide of /docs', () => {
  const guide = readGuide(plans);
  const textOf = (page: string, title: string) => {
    const section = guide.find((each) => each.page === page && each.title === title);
    if (!section) throw new Error(`/docs has no section ${title} of ${page}`);
    return seen(section.content.text);
  };

  it.each(['http-api.md', 'errors.md'] as const)('has every sentence, example and cell of docs/%s', (page) => {
    for (const { title, text, tables, code } of sections(`docs/${page}`).slice(1)) {
      const read = textOf(page, title);
      const cells = tables.flatMap((rows) => rows.flatMap((row) => [...Object.keys(row), ...Object.values(row)]));
      const wanted = [...text, ...cells].map(shown).concat(code.map((block) => onOneLine(block.text)));
      expect(wanted.filter((each) => !read.includes(each))).toEqual([]);
    }
  });

  it('has the addresses that are taken, and those that are refused', () => {
    for (const title of ['The platforms', 'Refused addresses']) {
      const [table = []] = sections('docs/platforms.md').find((each) => each.title === title)?.tables ?? [];
      const text = textOf('platforms.md', title);
      expect(table.length).toBeGreaterThan(5);
      expect(table.flatMap((row) => Object.values(row).map(shown)).filter((cell) => !text.includes(cell))).toEqual([]);
    }
  });

  it('counts the downloads of an hour as the plans of the service say', () => {
    expect(tableOf('docs/http-api.md', 'Hourly limit')).toEqual(planRows(plans));
    const one = new Map(
      [...plans].slice(1, 2).map(([name, terms]) => [name, { ...terms, hourly_limit: 310 }] as const),
    );
    const limits = readGuide(one).find(({ id }) => id === 'hourly-limit')?.content.text ?? '';
    expect(seen(limits)).toContain('dev_100 310 310 10 5');
    expect(seen(limits)).not.toContain('studio_500');
  });
});
