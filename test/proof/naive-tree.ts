import { hash } from 'node:crypto';

export const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  Buffer.from(hash('sha256', Buffer.concat(parts)), 'hex');

/** The definition of RFC 9162, section 2.1.1, word for word. */
export function naiveRoot(entries: readonly Uint8Array[]): Buffer {
  const [first] = entries;
  if (!first) return sha256();
  if (entries.length === 1) return sha256(Buffer.of(0), first);
  let left = 1;
  while (left * 2 < entries.length) left *= 2;
  return sha256(Buffer.of(1), naiveRoot(entries.slice(0, left)), naiveRoot(entries.slice(left)));
}
