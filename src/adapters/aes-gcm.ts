import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

interface EncryptionOptions {
  /** 12 bytes, never the same for two texts under one key; default: random ones. */
  nonce?: Buffer;
  /** Text that is not encrypted and has to be the same for decryption. */
  context?: string;
}

/** AES-256-GCM (NIST SP 800-38D). @returns nonce, tag and ciphertext, one behind the other */
export function encryptBytes(
  key: KeyObject,
  content: Buffer,
  { nonce = randomBytes(nonceBytes), context = '' }: EncryptionOptions = {},
): Buffer {
  const encrypting = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context));
  const ciphertext = Buffer.concat([encrypting.update(content), encrypting.final()]);
  return Buffer.concat([nonce, encrypting.getAuthTag(), ciphertext]);
}

/** @returns undefined for bytes that `encryptBytes` has not made with this key and context */
export function decryptBytes(key: KeyObject, encrypted: Buffer, context = ''): Buffer | undefined {
  if (encrypted.length < nonceBytes + tagBytes) return undefined;
  const [nonce, rest] = [encrypted.subarray(0, nonceBytes), encrypted.subarray(nonceBytes)];
  const decrypting = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(context));
  decrypting.setAuthTag(rest.subarray(0, tagBytes));
  try {
    return Buffer.concat([decrypting.update(rest.subarray(tagBytes)), decrypting.final()]);
  } catch {
    return undefined;
  }
}
