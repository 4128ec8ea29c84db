import type { IncomingHttpHeaders } from 'node:http';

/** Validators of a file's content: a strong ETag, and the digest itself (RFC 9530). */
export interface Validators {
  etag: string;
  reprDigest: string;
}

/** @param sha256 hexadecimal */
export function validatorsOf(sha256: string): Validators {
  return { etag: `"${sha256}"`, reprDigest: `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:` };
}

const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** RFC 9110 section 13.1.1, strong comparison: a file without a known tag matches no list. */
function matches(list: string, etag: string | undefined): boolean {
  const tags: readonly string[] = list.match(entityTag) ?? [];
  return list.trim() === '*' || (etag !== undefined && tags.includes(etag));
}

/** RFC 9110 section 13.1.2, weak comparison. */
function matchesWeakly(list: string, etag: string | undefined): boolean {
  return matches(list.replaceAll('W/"', '"'), etag);
}

/**
 * The preconditions of a request for a file that is there, in the order of RFC 9110 section 13.2.2. There are no times of
 * modification, so that conditions about these do not count, and an If-Range with one does not hold.
 */
export function judgePreconditions(headers: IncomingHttpHeaders, etag: string | undefined): 304 | 412 | 'go on' {
  const { 'if-match': wanted, 'if-none-match': known } = headers;
  if (wanted !== undefined && !matches(wanted, etag)) return 412;
  return known !== undefined && matchesWeakly(known, etag) ? 304 : 'go on';
}

/** The Range header, if it counts: RFC 9110 section 13.1.5. */
export function rangeThatCounts(headers: IncomingHttpHeaders, etag: string | undefined): string | undefined {
  const condition = headers['if-range'];
  return condition === undefined || String(condition) === etag ? headers.range : undefined;
}
