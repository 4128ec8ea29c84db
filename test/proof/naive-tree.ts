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

/** The verifier's algorithm of section 2.1.3.2. */
export function rootByInclusion(
  index: number,
  size: number,
  entry: Uint8Array,
  path: readonly Buffer[],
): Buffer | undefined {
  let [fn, sn] = [index, size - 1];
  let root = sha256(Buffer.of(0), entry);
  for (const hashOfPath of path) {
    if (sn === 0) return undefined;
    if (fn % 2 === 1 || fn === sn) {
      root = sha256(Buffer.of(1), hashOfPath, root);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else root = sha256(Buffer.of(1), root, hashOfPath);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 ? root : undefined;
}

/** The verifier's algorithm of section 2.1.4.2: whether both roots follow from the path. */
export function isConsistent(
  [earlier, size]: readonly [number, number],
  [first, second]: readonly [Buffer, Buffer],
  proof: readonly Buffer[],
): boolean {
  if (earlier === size) return proof.length === 0 && first.equals(second);
  const path = Number.isInteger(Math.log2(earlier)) ? [first, ...proof] : [...proof];
  let [fn, sn] = [earlier - 1, size - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  const [start, ...others] = path;
  if (!start) return false;
  let [fr, sr] = [start, start];
  for (const each of others) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [sha256(Buffer.of(1), each, fr), sha256(Buffer.of(1), each, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else sr = sha256(Buffer.of(1), sr, each);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.equals(first) && sr.equals(second);
}
