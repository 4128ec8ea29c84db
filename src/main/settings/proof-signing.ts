import { join } from 'node:path';
import { type Signer, signerOf } from '../../proof/signed-note.ts';
import { newSigningKey, readOrMakeSecret } from '../../system/private-files.ts';
import type { Config } from './config.ts';

/** In the data folder of an installation whose servers are all embedded. */
export const proofKeyFile = 'proof-signing-key';

export interface ProofSigning {
  /** Name of the signed log until its first head, which is the name of its key too. */
  origin: string;
  /** The key under the name of a log. */
  signerFor: (origin: string) => Signer;
}

/** The key that signs the log of what was closed and invoiced. @returns undefined for an installation without one: nothing is signed */
export function readProofSigning(
  config: Pick<Config, 'PROOF_SIGNING_KEY' | 'PROOF_ORIGIN' | 'PUBLIC_URL' | 'allEmbedded' | 'dataDirectory'>,
): ProofSigning | undefined {
  const { PROOF_SIGNING_KEY: given, PROOF_ORIGIN, PUBLIC_URL, allEmbedded, dataDirectory } = config;
  const base64 =
    given ?? (allEmbedded ? readOrMakeSecret(join(dataDirectory, proofKeyFile), newSigningKey) : undefined);
  if (base64 === undefined) return undefined;
  const signerFor = (origin: string) => signerOf(origin, Buffer.from(base64, 'base64'));
  const address = PUBLIC_URL?.replace(/^https?:\/\//, '');
  const origin =
    address === undefined ? `reeltally.local/${signerFor('reeltally.local').publicKey.id}` : `${address}/tlog`;
  return { origin: PROOF_ORIGIN ?? origin, signerFor };
}
