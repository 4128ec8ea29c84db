import type { ItemKind } from '../download-options.ts';

/**
 * What is known of a platform: one row of the table of platforms.
 *
 * A row says how the platform's addresses are written. A shape is such a writing, from the path on:
 *
 * - `{name}` is a piece that the row's `pieces` describe; `{_}` is any one part between two slashes.
 * - `[…]` may be missing, `(a|b)` is one of several, and `*` at the end is whatever follows.
 * - Behind `?` stand the query parameters that it needs, in any order; one in brackets may be missing. Others do not matter.
 * - `{address}` as a parameter is another address: see `WrapperAddress`.
 * - What follows a `#` is looked for behind the `#` of the address; where nothing stands before it, on any page.
 *
 * The first shape that fits decides, so a row lists what is no single item before the shapes that it would fit too.
 */
export interface Platform {
  /** Lower case, as clients see it. */
  name: string;
  /** As people write it. */
  title: string;
  /** The platform's own hosts. `*.` in front stands for one further label, `{name}.` for one that is a piece. */
  hosts: readonly string[];
  /** Scheme, host and port of a platform that is served there alone: then `item` and `lookUp` are paths, and `hosts` is empty. */
  origin?: string;
  /** What a piece looks like; each is bounded, and has no repetition within a repetition. */
  pieces: Readonly<Record<string, RegExp>>;
  addresses: readonly Address[];
  /** Paths in any letter case. */
  ignoresCase?: boolean;
  /** Old addresses hold the page's path behind `#` or `#!`. */
  pagesBehindHash?: boolean;
}

export type Address = ItemAddress | ShortLinkAddress | WrapperAddress | OtherAddress;

interface Written {
  /** Default: those of the platform. */
  hosts?: readonly string[];
  at: readonly string[];
}

/** Addresses of single items, which all become one. */
interface ItemAddress extends Written {
  /** The canonical address, of the pieces; what is in brackets is left out where a piece of it is missing. */
  item: string;
  /** The item's id, of the pieces. Default: `{id}`. */
  id?: string;
  /** Name of yt-dlp's extractor; where one hands over to another, both, separated by a comma. */
  extractor: string;
  /** Default: `video`. */
  kind?: ItemKind;
}

/** Addresses that do not say which item they stand for: the platform redirects them to it. */
interface ShortLinkAddress extends Written {
  /** The address to ask, of the pieces; `{short}` stands for its id. */
  lookUp: string;
}

/**
 * Addresses that hold the address of an item of the same platform as their `{address}`. Pieces that stand beside it are the
 * item's too, where its own address has none of that name.
 */
interface WrapperAddress extends Written {
  wraps: 'an address';
}

/** Addresses of pages that people mistake for items. */
interface OtherAddress extends Written {
  /** `a playlist`, say. */
  is: string;
}
