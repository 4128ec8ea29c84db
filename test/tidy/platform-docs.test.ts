import { describe, expect, it } from 'vitest';
import type { Platform } from '../../src/domain/platforms/platform-row.ts';
import { platforms } from '../../src/domain/platforms/platforms.ts';
import { tableOf } from './markdown.ts';

const page = 'docs/platforms.md';
const shownHosts = 8;

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];
const quoted = (texts: readonly string[]): string => texts.map((text) => `\`${text}\``).join(', ');

function hostsOf({ hosts, addresses }: Platform): string {
  const all = distinct([...hosts, ...addresses.flatMap((address) => ('item' in address ? (address.hosts ?? []) : []))]);
  const more = all.length - shownHosts;
  return `${quoted(all.slice(0, shownHosts))}${more > 0 ? ` and ${String(more)} more` : ''}`;
}

function rowOf(platform: Platform): Record<string, string> {
  const items = platform.addresses.filter((address) => 'item' in address);
  const links = platform.addresses.filter((address) => 'lookUp' in address);
  return {
    platform: `\`${platform.name}\``,
    name: platform.title,
    hosts: hostsOf(platform),
    'an item becomes': quoted(distinct(items.map(({ item }) => item))),
    'read by': quoted(distinct(items.flatMap(({ extractor }) => extractor.split(',')))),
    'made of': distinct(items.map(({ kind = 'video' }) => kind)).join(', '),
    'short links': quoted(distinct(links.map(({ lookUp }) => lookUp))),
  };
}

describe('docs/platforms.md', () => {
  it('has every platform of the table as it is there, and no other', () => {
    expect(tableOf(page, 'The platforms')).toEqual(platforms.map(rowOf));
  });
});
