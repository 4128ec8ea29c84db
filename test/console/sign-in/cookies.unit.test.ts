import { describe, expect, it } from 'vitest';
import { ownerCookies, readCookies, setCookie } from '../../../src/console/sign-in/cookies.ts';

describe('cookies', () => {
  it('are read by name', () => {
    expect(readCookies('a=1; reeltally_session=x.y;b="2"').get('reeltally_session')).toBe('x.y');
  });

  it.each([undefined, '', ';', '=x', 'session'])('of %j are none', (header) => {
    expect(readCookies(header).size).toBe(0);
  });

  it('that come twice are none, however often', () => {
    expect(readCookies('a=1; b=2; a=3').get('a')).toBeUndefined();
    expect(readCookies('a=1; a=1; a=1').get('a')).toBeUndefined();
  });

  it('are for https alone where there is https, under a name that no other host can set', () => {
    const { session, isSecure } = ownerCookies(true);
    expect(setCookie(session, 'v', { isSecure, maxAgeSeconds: 60 })).toBe(
      '__Host-reeltally_session=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure',
    );
  });

  it('of plain http have neither', () => {
    const { session, isSecure } = ownerCookies(false);
    expect(setCookie(session, '', { isSecure, maxAgeSeconds: 0 })).toBe(
      'reeltally_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    );
  });
});
