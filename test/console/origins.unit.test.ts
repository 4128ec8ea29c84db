import { describe, expect, it } from 'vitest';
import { originsOf } from '../../src/console/origins.ts';

describe('the addresses of the console', () => {
  it('is the one of its service, and no other', () => {
    const origins = originsOf('https://api.example.com/');
    expect(origins).toMatchObject({ own: 'https://api.example.com', isSecure: true, mayHoldSessions: true });
    expect(origins.isOrigin('https://api.example.com')).toBe(true);
    expect(origins.isHost('API.example.com')).toBe(true);
    for (const other of [
      'http://api.example.com',
      'https://api.example.com:8443',
      'https://evil.example',
      'null',
      undefined,
    ])
      expect(origins.isOrigin(other)).toBe(false);
    for (const other of ['evil.example', 'api.example.com.evil.example', 'api.example.com:80', '', undefined])
      expect(origins.isHost(other)).toBe(false);
  });

  it('on this machine has three names, with one port', () => {
    const origins = originsOf('http://127.0.0.1:8080');
    expect(origins).toMatchObject({ isSecure: false, mayHoldSessions: true });
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      expect(origins.isOrigin(`http://${host}:8080`)).toBe(true);
      expect(origins.isHost(`${host}:8080`)).toBe(true);
      expect(origins.isHost(host)).toBe(false);
    }
  });

  it('keeps sessions off a network without encryption', () => {
    expect(originsOf('http://10.0.0.5:8080').mayHoldSessions).toBe(false);
  });
});
