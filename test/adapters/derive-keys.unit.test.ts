import { describe, expect, it } from 'vitest';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';

describe('the keys of a secret', () => {
  it('are the same for ever: links and tokens that clients hold depend on them', () => {
    const { id, linkKey, tokenKey } = deriveKeys('correct horse battery staple');
    // HKDF-SHA-256 without salt, computed by another program.
    expect(id).toBe('44891f2da57d7616');
    expect(linkKey.export().toString('hex')).toBe('0298a9c684e2f962b365d6ab5cfccb2b73e7943c194f218d524b9abfa536699e');
    expect(tokenKey.id).toBe(57);
    expect(tokenKey.key.export().toString('hex')).toBe(
      '5d7818097e62c2f0867bfadb25a28e24e296f0fd4f7edef449f58fc13aadd31f',
    );
  });

  it('are others for another secret, and one for each purpose', () => {
    const [one, other] = [deriveKeys('a'.repeat(22)), deriveKeys('b'.repeat(22))];
    expect(one.id).not.toBe(other.id);
    const keys = [one, other].flatMap(({ linkKey, tokenKey }) => [linkKey, tokenKey.key]);
    expect(new Set(keys.map((key) => key.export().toString('hex'))).size).toBe(4);
  });

  it('name a token key that tokens can carry, whatever the secret', () => {
    for (let secret = 0; secret < 500; secret += 1) {
      const { id } = deriveKeys(`secret number ${secret}`).tokenKey;
      expect(id >= 0 && id < 64).toBe(true);
    }
  });
});
