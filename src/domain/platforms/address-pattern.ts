import type { Platform } from './platform-row.ts';

/** Named pieces of an address; those that are missing are undefined. */
export type Pieces = Readonly<Record<string, string | undefined>>;

/** An address in the parts that shapes are matched with. */
export interface SplitAddress {
  /** Without doubled slashes. */
  path: string;
  /** Query parameters as sent, not decoded. */
  parameters: ReadonlyMap<string, readonly string[]>;
  /** Without the `#`. */
  fragment: string;
}

export interface CompiledShape {
  path: RegExp | undefined;
  parameters: readonly { name: string; optional: boolean; value: RegExp | 'address' }[];
  /** A required parameter, which is checked first. */
  needed: string | undefined;
  fragment: RegExp | undefined;
}

/** Compiles a shape of `platform-row.ts`. @throws when it names a piece that the row does not describe */
export function compileShape(shape: string, { pieces, ignoresCase = false }: Platform): CompiledShape {
  const [page = '', fragment] = shape.split('#', 2);
  const [path = '', query] = page.split('?', 2);
  const named = new Set<string>();
  const flags = ignoresCase ? 'i' : '';
  const pattern = (text: string, end: string): RegExp => new RegExp(`^${source(text, pieces, named)}${end}$`, flags);
  const pathPattern = path === '' ? undefined : pattern(path, path.endsWith('*') ? '' : '/?');
  const parameters = (query?.split('&') ?? []).map((written): CompiledShape['parameters'][number] => {
    const optional = written.startsWith('[');
    const [name = '', value = ''] = (optional ? written.slice(1, -1) : written).split('=', 2);
    return { name, optional, value: value === '{address}' ? 'address' : pattern(value, '') };
  });
  return {
    path: pathPattern,
    parameters,
    needed: parameters.find(({ optional }) => !optional)?.name,
    fragment: fragment === undefined ? undefined : pattern(fragment, ''),
  };
}

/** @param named the names that the shape has had already: a name is a group only once */
function source(text: string, pieces: Platform['pieces'], named: Set<string>): string {
  return text.replaceAll(/\{(?<name>\w+)\}|[^{}]/g, (character, name: string | undefined) => {
    if (name === '_') return '[^/]+';
    if (name !== undefined) {
      const piece = pieces[name];
      if (piece === undefined) throw new Error(`A shape names {${name}}, which the row does not describe: ${text}`);
      if (named.has(name)) return `(?:${piece.source})`;
      named.add(name);
      return `(?<${name}>${piece.source})`;
    }
    switch (character) {
      case '[':
        return '(?:';
      case ']':
        return ')?';
      case '(':
        return '(?:';
      case ')':
      case '|':
        return character;
      case '*':
        return '.*';
      default:
        return /[\w/]/.test(character) ? character : `\\${character}`;
    }
  });
}

/** The pieces of an address, `address` as sent among them; undefined if the address does not have this shape. */
export function matchShape(shape: CompiledShape, address: SplitAddress): Pieces | undefined {
  if (shape.fragment !== undefined && address.fragment === '') return undefined;
  if (shape.needed !== undefined && !address.parameters.has(shape.needed)) return undefined;
  const path = shape.path?.exec(address.path);
  if (path === null) return undefined;
  const fragment = shape.fragment?.exec(address.fragment);
  if (fragment === null) return undefined;
  const pieces: Record<string, string | undefined> = { ...path?.groups, ...fragment?.groups };
  for (const { name, optional, value } of shape.parameters) {
    const sent = address.parameters.get(name) ?? [];
    if (value === 'address') {
      if (sent[0] === undefined) return undefined;
      pieces['address'] = sent[0];
      continue;
    }
    const match = firstMatch(value, sent);
    if (match !== undefined) Object.assign(pieces, match.groups);
    else if (!optional) return undefined;
  }
  return pieces;
}

/** People append a second `?` or a slash, and platforms a path, escaped or not. These are mostly not part of the value. */
function firstMatch(pattern: RegExp, values: readonly string[]): RegExpExecArray | undefined {
  for (const value of values) {
    const match = pattern.exec(value) ?? pattern.exec(value.split(/[?#&/]|%(?:2[36F]|3F)/i, 1)[0] ?? '');
    if (match !== null) return match;
  }
  return undefined;
}

/** Makes a text of pieces. A part in brackets is left out if a piece of it is missing. */
export type Template = (pieces: Pieces) => string;

/** @param template an address or an id, of literal text, `{name}` and `[…]` */
export function compileTemplate(template: string): Template {
  const parts = template
    .split(/[[\]]/)
    .map((text, index) => ({ texts: text.split(/[{}]/), optional: index % 2 === 1 }));
  return (pieces) => {
    let filled = '';
    for (const { texts, optional } of parts) {
      let part = '';
      for (const [index, text] of texts.entries()) {
        const piece = index % 2 === 0 ? text : pieces[text];
        if (piece === undefined && optional) {
          part = '';
          break;
        }
        part += piece ?? '';
      }
      filled += part;
    }
    return filled;
  };
}
