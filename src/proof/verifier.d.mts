/** What is wrong, in a sentence, with its place. */
export class NotVerified extends Error {}

export interface Verified {
  /** Number of the document, such as `INV-7H2K-9M4P-1Q8S-5T3V-2`. */
  name: string;
  cents: number;
  /** Number of the charges that the invoice follows from. */
  charges: number;
  /** For people. */
  verdict: string;
}

/**
 * @param text of a proof
 * @param key public key of the log
 * @param wanted number of the document, if it is known
 * @throws {NotVerified} {SyntaxError}
 */
export function verify(text: string, key: string, wanted?: string): Promise<Verified>;
