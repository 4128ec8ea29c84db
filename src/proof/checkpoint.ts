import { bytesOfBase64, openNote, type PublicKey, type Signer, signNote } from './signed-note.ts';

/** Signed heads of the log, in the form of C2SP tlog-checkpoint, and what proves that an entry is in it (C2SP tlog-proof). */

export interface TreeHead {
  /** Number of the entries. */
  size: number;
  root: Buffer;
}

/** The name of the log is that of its key. */
export const signCheckpoint = ({ size, root }: TreeHead, signer: Signer): string =>
  signNote(`${signer.name}\n${String(size)}\n${root.toString('base64')}\n`, signer);

/** @returns undefined unless one of these keys has signed it as the head of its own log */
export function openCheckpoint(checkpoint: string, keys: readonly PublicKey[]): TreeHead | undefined {
  const [name] = checkpoint.split('\n', 1);
  const own = keys.filter((key) => key.name === name);
  const text = openNote(checkpoint, own) ?? '';
  const [, size = '', base64 = ''] = /^[^\n]+\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n$/.exec(text) ?? [];
  const root = bytesOfBase64(base64);
  return root?.length === 32 ? { size: Number(size), root } : undefined;
}

/** @param path the hashes of `inclusionProof` */
export const proofText = (index: number, path: readonly Buffer[], checkpoint: string): string =>
  `c2sp.org/tlog-proof@v1\nindex ${String(index)}\n${path.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${checkpoint}`;
