import type { ItemKind } from '../download-options.ts';

/**
 * One row of the table of platforms: the forms of a platform's addresses. A shape is one such form, from the path on:
 *
 * - `{name}` is a piece that the row's `pieces` describe; `{_}` is any one part between two slashes.
 * - `[…]` may be missing, `(a|b)` is one of several, and `*` at the end is any rest.
 * - `?` is followed by the required query parameters, in any order; one in brackets may be missing. Others do not matter.
 * - `{address}` as a parameter is another address (`WrapperAddress`).
 * - The part after a `#` is compared with the fragment of the address. A shape that begins with `#` fits any page.
 *
 * The first shape that fits decides, so a row lists pages that are no single item before the shapes that would fit them too.
 */
export interface Platform {
  /** Lower case, as clients see it. */
  name: string;
  /** For people, in texts. */
  title: string;
  /** The platform's own hosts. A leading `*.` stands for one further label, `{name}.` for a label that is a piece. */
  hosts: readonly string[];
  /** Scheme, host and port, in place of `hosts`, for a platform that the configuration names. `item` and `lookUp` are then paths. */
  origin?: string;
  /** The form of each piece. It is bounded, and has no repetition within a repetition. */
  pieces: Readonly<Record<string, RegExp>>;
  addresses: readonly Address[];
  /** Paths match in any letter case. */
  ignoresCase?: boolean;
  /** Old addresses have the page's path after `#` or `#!`. */
  pagesBehindHash?: boolean;
}

export type Address = ItemAddress | ShortLinkAddress | WrapperAddress | OtherAddress;

interface Written {
  /** Default: those of the platform. */
  hosts?: readonly string[];
  at: readonly string[];
}

/** Addresses of a single item, which all become the same canonical address. */
interface ItemAddress extends Written {
  /** The canonical address, made of the pieces. A part in brackets is left out if a piece of it is missing. */
  item: string;
  /** The item's id, made of the pieces. Default: `{id}`. */
  id?: string;
  /** Name of yt-dlp's extractor. If one hands over to another, both names, separated by a comma. */
  extractor: string;
  /** Default: `video`. */
  kind?: ItemKind;
}

/** Addresses that do not name their item. The platform redirects them to it. */
interface ShortLinkAddress extends Written {
  /** The address to request, made of the pieces; `{short}` is its id. */
  lookUp: string;
}

/**
 * Addresses with the address of an item of the same platform as their `{address}`, such as pages for signing in or consenting. Pieces beside it belong to the item too, unless
 * its own address has a piece of that name.
 */
interface WrapperAddress extends Written {
  wraps: 'an address';
}

/** Addresses of pages that people mistake for items. */
interface OtherAddress extends Written {
  /** For people, such as `a playlist`. */
  is: string;
}
