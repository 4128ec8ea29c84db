import { describe, expect, it, vi } from 'vitest';
import { ConfigurationRefused, readConfig } from '../../src/main/config.ts';

const read = (EVENTSTORE_URL: string) => readConfig({ EVENTSTORE_URL }).EVENTSTORE_URL;

function refusalOf(address: string): string {
  try {
    read(address);
  } catch (error) {
    if (error instanceof ConfigurationRefused) return error.message;
    throw error;
  }
  throw new Error(`${address} was taken`);
}

describe('EVENTSTORE_URL', () => {
  it.each([
    'esdb://127.0.0.1:2113?tls=false',
    'esdb://a:2113,b:2113,c:2113?tls=true&nodePreference=leader',
    'esdb://admin:p%40ss@a:2113,b:2114,c:2115?tlsCAFile=/etc/ca.pem',
    'esdb://a,b,c',
    'esdb+discover://events.internal?tls=true',
    'esdb+discover://user:password@events.internal:2113/?keepAliveInterval=10000',
  ])('takes %s as the client does', (address) => {
    expect(read(address)).toBe(address);
  });

  it.each([
    ['another protocol', 'http://user:hidden@127.0.0.1:2113'],
    ['a protocol that the client does not know', 'kurrentdb://user:hidden@127.0.0.1:2113'],
    ['no host', 'esdb://'],
    ['a port that is none', 'esdb://user:hidden@a:2113,b:hidden'],
    ['an option without a value', 'esdb://user:hidden@a:2113?tls'],
    ['an option with a wrong value', 'esdb://user:hidden@a:2113?tls=hidden'],
    ['a password that cannot be decoded', 'esdb://user:hidden%zz@a:2113'],
  ])('refuses %s in one line that repeats nothing of it', (_, address) => {
    const lines = refusalOf(address).split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(/^ {2}EVENTSTORE_URL: must be an address such as esdb:\/\/host:2113\?tls=true, /);
    expect(lines[1]).not.toContain('hidden');
  });

  it('leaves out what the client ignores, whose warnings repeat the whole address', () => {
    using warn = vi.spyOn(console, 'warn').mockReturnValue(undefined);
    expect(read('esdb://user:hidden@a:2113?colour=red&tls=true&tlsVerifyCert=false')).toBe(
      'esdb://user:hidden@a:2113?tls=true',
    );
    expect(warn.mock.calls.join('\n')).toContain('colour');
    expect(warn.mock.calls.join('\n')).not.toContain('hidden');
  });
});
