import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readExamples } from '../../src/http/reference/examples.ts';
import { environment, secretSettings } from '../../src/main/settings/config.ts';
import { codeBlocks, links, pages, sections, tableOf } from './markdown.ts';
import { root } from './source-files.ts';

/** As GitHub makes it of a heading. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function brokenLink(page: string, href: string): boolean {
  if (/^https?:/.test(href)) return false;
  const [path = '', anchor] = href.split('#');
  const target = path === '' ? page : join(page, '..', path);
  if (!existsSync(join(root, target))) return true;
  return anchor !== undefined && !sections(target).some(({ title }) => anchorOf(title) === anchor);
}

describe.each(pages())('%s', (page) => {
  it('links to what is there', () => {
    expect(links(page).filter((href) => brokenLink(page, href))).toEqual([]);
  });

  it('says of each command whether it is run by test/docs, and why not', () => {
    const unclear = codeBlocks(page).filter(
      ({ language, mark }) => language === 'sh' && !/^(?:|stopped|no-run \w.*)$/.test(mark),
    );
    expect(unclear).toEqual([]);
    const unknown = codeBlocks(page).filter(({ language }) => !['', 'sh', 'json'].includes(language));
    expect(unknown).toEqual([]);
  });

  it('has JSON that can be read, and answers that a test got', () => {
    const examples = readExamples();
    for (const { language, mark, text } of codeBlocks(page)) {
      if (language !== 'json') continue;
      const json = JSON.parse(text) as unknown;
      // Events are read by their schemas: see event-docs.test.ts.
      if (page === 'docs/events.md') continue;
      expect(json).toEqual(examples.find(({ name }) => name === mark)?.response.body);
    }
  });
});

describe.each([
  'src/client/README.md',
  'test/README.md',
  'docs/decisions/README.md',
  '.github/pull_request_template.md',
])('%s', (page) => {
  it('links to what is there', () => {
    expect(links(page).filter((href) => brokenLink(page, href))).toEqual([]);
  });
});

describe('test/README.md', () => {
  const onOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

  it('has examples that stand in the files that they name', () => {
    const examples = codeBlocks('test/README.md');
    const gone = examples.filter(
      ({ mark, text }) => !onOneLine(readFileSync(join(root, mark), 'utf8')).includes(onOneLine(text)),
    );
    expect(gone).toEqual([]);
  });
});

describe('the templates of .github', () => {
  it('name pages that are there', () => {
    const files = readdirSync(join(root, '.github'), { recursive: true, encoding: 'utf8' });
    const texts = files
      .filter((name) => /\.(?:md|yml)$/.test(name))
      .map((name) => readFileSync(join(root, '.github', name), 'utf8'));
    const named = texts.flatMap((text) => text.match(/\bdocs\/[\w/-]+(?:\.md)?/g) ?? []);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

describe('the settings in docs/settings.md', () => {
  it('are those that the service reads', () => {
    const cells = tableOf('docs/settings.md', 'All settings').map((row) => row['variable'] ?? '');
    const documented = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    // Set by npm, and by every system: nobody sets them for this service.
    const others = ['npm_lifecycle_event', 'PATH'];
    const read = Object.keys(environment.shape).filter((name) => !others.includes(name));
    expect(documented.sort()).toEqual(read.sort());
  });

  it('may come from files where they are secret, which the page lists', () => {
    const page = readFileSync(join(root, 'docs/settings.md'), 'utf8');
    const [, listed = ''] = /This holds for (.*?)\. /.exec(page) ?? [];
    expect([...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(secretSettings.toSorted());
  });
});
