import { createSecretKey, hkdfSync } from 'node:crypto';

/** The keys that are derived from one secret. */
export type DerivedKeys = ReturnType<typeof deriveKeys>;

/** Keys of the current secret, and of older ones that are still accepted. */
export interface Secrets {
  current: DerivedKeys;
  others: readonly DerivedKeys[];
}

/** At least 128 bits, however they are written. */
export const minSecretLength = 22;

export function deriveKeys(secret: string) {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, '', `reeltally ${purpose}`, bytes));
  return {
    /** Names the secret without telling it: what processes compare, and what links carry. */
    id: derive('secret id', 8).toString('hex'),
    linkKey: createSecretKey(derive('link signature', 32)),
    /** Key of the MACs on rows that decisions start from. */
    rowKey: createSecretKey(derive('row check', 32)),
    /** Encrypts names and addresses of customers in Postgres. */
    nameKey: createSecretKey(derive('customer names', 32)),
    /** Encrypts the keys of personal data in Postgres. */
    wrappingKey: createSecretKey(derive('personal keys', 32)),
    /** Key of the MACs on cursors of the API. */
    cursorKey: createSecretKey(derive('cursor check', 32)),
    // Six bits, so that every token begins with a letter (see RequestTokens).
    tokenKey: { id: derive('token key id', 1).readUInt8(0) & 0x3f, key: createSecretKey(derive('token check', 32)) },
  };
}
