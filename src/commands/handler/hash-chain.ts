import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** The previous hash of a stream's first event: SHA-256 of the stream's name. */
export const firstPreviousHash = (stream: string): string => hash('sha256', stream);

/**
 * One link of a stream's hash chain: SHA-256(previous hash ‖ RFC 8785 canonical JSON of stream, revision, id, type, data and
 * metadata without hash). Hashes are hexadecimal.
 */
export function chainHash(
  previousHash: string,
  link: { stream: string; revision: number; id: string; type: string; data: unknown; metadata: object },
): string {
  const canonical = canonicalize(link);
  if (canonical === undefined) throw new Error('an event cannot be written as JSON');
  return hash('sha256', Buffer.concat([Buffer.from(previousHash, 'hex'), Buffer.from(canonical)]));
}
