import { describe, expect, it } from 'vitest';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { Cursors } from '../../src/http/cursors.ts';

const [current, earlier, other] = ['current', 'earlier', 'other'].map((name) =>
  deriveKeys(`a secret that is long enough, ${name}`),
);
const cursorsOf = (...[first, ...others]: (ReturnType<typeof deriveKeys> | undefined)[]) =>
  new Cursors(
    first!.cursorKey,
    others.map((keys) => keys!.cursorKey),
  );

const cursors = cursorsOf(current, earlier);
const of = { list: 'downloads', accountId: 'acc_a' } as const;

describe('a cursor', () => {
  it.each(['', '0', '2027-01-20T00:00:00.000Z~Atoken', 'ö'])(
    'gives the place back that it was written for: %j',
    (place) => {
      expect(cursors.read(of, cursors.write(of, place))).toBe(place);
    },
  );

  it('is still taken after the secret was changed, until the old secret is removed', () => {
    const old = cursorsOf(earlier).write(of, 'x');
    expect(cursors.read(of, old)).toBe('x');
    expect(() => cursorsOf(other).read(of, old)).toThrow('after: is not a cursor');
  });

  it('is one of its list and its account alone, and has one spelling', () => {
    const cursor = cursors.write(of, 'x');
    expect(() => cursors.read({ ...of, list: 'events' }, cursor)).toThrow();
    expect(() => cursors.read({ ...of, accountId: 'acc_b' }, cursor)).toThrow();
    const bytes = Buffer.from(cursor, 'base64url');
    // 17 bytes leave four bits of the last character unused.
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const spellings = Array.from(last, (character) => cursor.slice(0, -1) + character);
    const same = spellings.filter((text) => Buffer.from(text, 'base64url').equals(bytes));
    expect(same.length).toBeGreaterThan(1);
    const taken = [...same, `${cursor}=`, bytes.toString('base64'), ` ${cursor}`].filter((text) => {
      try {
        return cursors.read(of, text) === 'x';
      } catch {
        return false;
      }
    });
    expect(new Set(taken)).toEqual(new Set([cursor]));
  });
});
