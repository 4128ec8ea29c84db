import fc from 'fast-check';
import type { Address, Platform } from '../../src/domain/platforms/platform-row.ts';
import { platforms } from '../../src/domain/platforms/platforms.ts';

/**
 * Addresses made from the shapes of the platforms, by a reading of the shapes of its own.
 *
 * Now and then a piece is one of the words that stand in the platform's own shapes or hosts: a user may be called `videos`,
 * and a blog `www`, and what is made of it must not be taken for the page, or the host, of that name.
 */

/** Each platform's own words: the parts of its paths, its parameters, and the labels of its hosts. */
const ownWords = new Map(platforms.map((platform) => [platform, wordsOf(platform)]));

function wordsOf({ hosts, addresses }: Platform): string[] {
  const texts = addresses.flatMap((address) => [...address.at, ...(address.hosts ?? [])]);
  const names = [...hosts, ...texts].flatMap(
    (text) => text.replaceAll(/\{\w+\}/g, ' ').match(/[\w-]+(?:\.\w+)*/g) ?? [],
  );
  const words = names.flatMap((name) => [name, ...name.split('.')]);
  return [...new Set(words.flatMap((word) => [word, `${word.charAt(0).toUpperCase()}${word.slice(1)}`]))];
}

const segment = fc.stringMatching(/^[\w~-]{1,12}$/);
const rest = fc.stringMatching(/^[\w/.~=&%-]{0,20}$/).filter((text) => !/%(?![\da-fA-F]{2})/.test(text));

/** @param text from one bracket to the one that closes it, or to the end */
function alternatives(text: string): string[] {
  const found = [''];
  let depth = 0;
  for (const character of text) {
    if ('[({'.includes(character)) depth += 1;
    if ('])}'.includes(character)) depth -= 1;
    if (character === '|' && depth === 0) found.push('');
    else found.push(`${found.pop() ?? ''}${character}`);
  }
  return found;
}

function closing(text: string, from: number): number {
  let depth = 0;
  for (let index = from; index < text.length; index += 1) {
    if ('[({'.includes(text[index] ?? '')) depth += 1;
    if ('])}'.includes(text[index] ?? '')) depth -= 1;
    if (depth === 0) return index;
  }
  throw new Error(`a bracket is not closed: ${text}`);
}

/** Texts that one part of a shape describes. */
function written(text: string, platform: Platform): fc.Arbitrary<string> {
  const parts: fc.Arbitrary<string>[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (!'[({*'.includes(character)) {
      parts.push(fc.constant(character));
      continue;
    }
    const end = character === '*' ? index : closing(text, index);
    const inner = text.slice(index + 1, end);
    if (character === '*') parts.push(rest);
    else if (character === '{') parts.push(piece(inner, platform));
    else {
      const choices = alternatives(inner).map((choice) => written(choice, platform));
      parts.push(fc.oneof(...(character === '[' ? [fc.constant(''), ...choices] : choices)));
    }
    index = end;
  }
  return fc.tuple(...parts).map((texts) => texts.join(''));
}

function piece(name: string, platform: Platform): fc.Arbitrary<string> {
  const own = ownWords.get(platform) ?? [];
  if (name === '_') return oftenAny(segment, own);
  const described = platform.pieces[name];
  if (described === undefined) throw new Error(`${platform.name} has no piece ${name}`);
  const pattern = new RegExp(`^(?:${described.source})$`);
  const words = own.filter((word) => pattern.test(word));
  return oftenAny(fc.stringMatching(pattern), words);
}

function oftenAny(any: fc.Arbitrary<string>, words: readonly string[]): fc.Arbitrary<string> {
  if (words.length === 0) return any;
  return fc.oneof({ weight: 3, arbitrary: any }, { weight: 1, arbitrary: fc.constantFrom(...words) });
}

function query(text: string, platform: Platform): fc.Arbitrary<string> {
  const parameters = text.split('&').map((parameter) => {
    const optional = parameter.startsWith('[');
    const [name = '', value = ''] = (optional ? parameter.slice(1, -1) : parameter).split('=', 2);
    const values = value === '{address}' ? itemAddresses(platform).map(encodeURIComponent) : written(value, platform);
    const whole = values.map((chosen) => `${name}=${chosen}`);
    return optional ? fc.oneof(fc.constant(''), whole) : whole;
  });
  const noise = fc.constantFrom('', 'utm_source=share', 't=10s', 'lang=en');
  return fc.tuple(noise, ...parameters).map((all) => all.filter((parameter) => parameter !== '').join('&'));
}

function host(pattern: string, platform: Platform): fc.Arbitrary<string> {
  if (pattern.startsWith('*'))
    return fc.constantFrom('m', 'www', 'de', 'a-b').map((label) => `${label}${pattern.slice(1)}`);
  return written(pattern, platform).map((name) => name.toLowerCase());
}

/** Addresses of one shape. */
export function addressesOf(platform: Platform, address: Address, shape: string): fc.Arbitrary<string> {
  const [page = '', fragment] = shape.split('#', 2);
  const [path = '', wanted] = page.split('?', 2);
  const hosts = (address.hosts ?? platform.hosts).map((pattern) => host(pattern, platform));
  return fc
    .tuple(
      fc.constantFrom('https', 'http'),
      fc.oneof(...hosts),
      path === '' ? fc.constant('/page') : written(path, platform),
      wanted === undefined ? fc.constant('') : query(wanted, platform).map((text) => `?${text}`),
      fragment === undefined ? fc.constant('') : written(fragment, platform).map((text) => `#${text}`),
    )
    .map(([scheme, name, pathname, search, hash]) => `${scheme}://${name}${pathname}${search}${hash}`);
}

export interface ShapeOfTable {
  platform: Platform;
  address: Address;
  shape: string;
}

/** Every shape of every platform. */
export const shapesOfTable: readonly ShapeOfTable[] = platforms.flatMap((platform) =>
  platform.addresses.flatMap((address) => address.at.map((shape) => ({ platform, address, shape }))),
);

function itemAddresses(platform: Platform): fc.Arbitrary<string> {
  const ofItems = shapesOfTable.filter((row) => row.platform === platform && 'item' in row.address);
  return fc.oneof(...ofItems.map(({ address, shape }) => addressesOf(platform, address, shape)));
}

/** Addresses of any shape of any platform. */
export const platformAddresses: fc.Arbitrary<string> = fc.oneof(
  ...shapesOfTable.map(({ platform, address, shape }) => addressesOf(platform, address, shape)),
);
