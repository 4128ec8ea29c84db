import { hash } from 'node:crypto';

export const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  Buffer.from(hash('sha256', Buffer.concat(parts)), 'hex');

/** The definitions of RFC 9162, section 2.1, word for word. Each hash is made once, so that large trees take no longer than they must. */
export function naiveTree(entries: readonly Uint8Array[]) {
  const made = new Map<string, Buffer>();

  /** MTH of the entries from one on, before another (section 2.1.1). */
  const root = (from: number, to: number): Buffer => {
    const name = `${String(from)} ${String(to)}`;
    const hash = made.get(name) ?? makeRoot(from, to);
    made.set(name, hash);
    return hash;
  };
  const makeRoot = (from: number, to: number): Buffer => {
    if (from === to) return sha256();
    if (to - from === 1) return sha256(Buffer.of(0), entries[from] ?? Buffer.of());
    const middle = from + leftOf(to - from);
    return sha256(Buffer.of(1), root(from, middle), root(middle, to));
  };

  /** PATH (section 2.1.3.1). */
  const path = (index: number, from: number, to: number): Buffer[] => {
    if (to - from === 1) return [];
    const left = leftOf(to - from);
    const middle = from + left;
    return index < left
      ? [...path(index, from, middle), root(middle, to)]
      : [...path(index - left, middle, to), root(from, middle)];
  };

  /** SUBPROOF (section 2.1.4.1). @param isWhole whether the earlier tree begins with the first entry */
  const subproof = (earlier: number, from: number, to: number, isWhole: boolean): Buffer[] => {
    if (earlier === to - from) return isWhole ? [] : [root(from, to)];
    const left = leftOf(to - from);
    const middle = from + left;
    return earlier <= left
      ? [...subproof(earlier, from, middle, isWhole), root(middle, to)]
      : [...subproof(earlier - left, middle, to, false), root(from, middle)];
  };

  return {
    root: (size: number) => root(0, size),
    inclusionProof: (index: number, size: number) => path(index, 0, size),
    consistencyProof: (earlier: number, size: number) => subproof(earlier, 0, size, true),
  };
}

/** The largest power of two below a number of entries. */
function leftOf(count: number): number {
  let left = 1;
  while (left * 2 < count) left *= 2;
  return left;
}

export const naiveRoot = (entries: readonly Uint8Array[]): Buffer => naiveTree(entries).root(entries.length);

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
