import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Texts signed with Ed25519, in the form of C2SP signed-note (c2sp.org/signed-note): the text, an empty line, and a line for each
 * signature. A public key is written as `name+key id+base64`.
 */

/** In front of a public key of Ed25519. */
const ed25519 = Buffer.of(1);
/** DER of a key of Ed25519 before its 32 bytes (RFC 8410). */
const derOf = { private: '302e020100300506032b657004220420', public: '302a300506032b6570032100' } as const;

export interface Signer {
  /** Name of the key: of the log, without spaces and plus signs. */
  name: string;
  privateKey: KeyObject;
  publicKey: PublicKey;
}

export interface PublicKey {
  name: string;
  /** The first four bytes of SHA-256 over name and key, in hexadecimal. */
  id: string;
  /** 32 bytes. */
  bytes: Buffer;
}

const idOf = (name: string, bytes: Buffer): string =>
  createHash('sha256').update(`${name}\n`).update(ed25519).update(bytes).digest('hex').slice(0, 8);

/** @param seed the private key, 32 bytes */
export function signerOf(name: string, seed: Buffer): Signer {
  const privateKey = createPrivateKey({
    key: Buffer.concat([Buffer.from(derOf.private, 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const bytes = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32);
  return { name, privateKey, publicKey: { name, id: idOf(name, bytes), bytes } };
}

export const publicKeyText = ({ name, id, bytes }: PublicKey): string =>
  `${name}+${id}+${Buffer.concat([ed25519, bytes]).toString('base64')}`;

/** @returns undefined for a text that is no public key of this kind */
export function publicKeyOf(text: string): PublicKey | undefined {
  const [, name = '', id = '', key = ''] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text) ?? [];
  const raw = bytesOfBase64(key);
  if (raw?.length !== 33 || raw[0] !== 1) return undefined;
  const bytes = raw.subarray(1);
  return idOf(name, bytes) === id ? { name, id, bytes } : undefined;
}

/** @returns undefined for a text that is not the one way to write its bytes */
export function bytesOfBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** @param text lines, each with its end */
export function signNote(text: string, { name, privateKey, publicKey }: Signer): string {
  const signature = Buffer.concat([Buffer.from(publicKey.id, 'hex'), sign(null, Buffer.from(text), privateKey)]);
  return `${text}\n— ${name} ${signature.toString('base64')}\n`;
}

/** A line below the text, with the name and id of the key that it is said to be of. */
interface Signature extends Pick<PublicKey, 'name' | 'id'> {
  /** 64 bytes. */
  bytes: Buffer;
}

interface Note {
  text: string;
  signatures: Signature[];
}

/** @returns undefined for what is no note; a line that is no signature of Ed25519 is left out */
function readNote(note: string): Note | undefined {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return undefined;
  const lines = note.slice(end + 2, -1).split('\n');
  return { text: note.slice(0, end + 1), signatures: lines.flatMap(signatureOf) };
}

function signatureOf(line: string): Signature[] {
  const [, name = '', base64 = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
  const bytes = bytesOfBase64(base64);
  if (bytes?.length !== 68) return [];
  return [{ name, id: bytes.subarray(0, 4).toString('hex'), bytes: bytes.subarray(4) }];
}

/** The keys that are said to have signed a note; nothing is verified. */
export const signersOf = (note: string): Pick<PublicKey, 'name' | 'id'>[] => readNote(note)?.signatures ?? [];

/** @returns the text, if one of these keys has signed it */
export function openNote(note: string, keys: readonly PublicKey[]): string | undefined {
  const { text = '', signatures = [] } = readNote(note) ?? {};
  const isSigned = signatures.some((signature) => keys.some((key) => isSignature(signature, text, key)));
  return isSigned ? text : undefined;
}

function isSignature(signature: Signature, text: string, { name, id, bytes }: PublicKey): boolean {
  if (signature.name !== name || signature.id !== id) return false;
  const der = Buffer.concat([Buffer.from(derOf.public, 'hex'), bytes]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, signature.bytes);
}
