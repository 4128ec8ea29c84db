import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAddress, isNetwork, networkOf, proxiesOf, readAddress } from '../../src/requests/client-address.ts';

describe('an address', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    [' 1.2.3.4\t', '1.2.3.4'],
    ['1.2.3.4:5678', '1.2.3.4'],
    ['"1.2.3.4:5678"', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:102:304', '1.2.3.4'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:DB8::1]:443', '2001:db8::1'],
    ['"[2001:db8::1]"', '2001:db8::1'],
    ['"[2001:db8::1]:443"', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%25eth0]:443', 'fe80::1'],
  ])('is read from %j', (text, address) => {
    expect(readAddress(text)).toBe(address);
  });

  it.each([
    ...['', ' ', 'unknown', '_hidden', '_gazonk:80', 'localhost', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x7f.1', '127.1'],
    ...['1.2.3.4:', '1.2.3.4:port', '1.2.3.4:123456', '1.2.3.4 5', '[1.2.3.4]', '[2001:db8::1', '[]:80', '"1.2.3.4'],
    ...['2001:db8::1::2', '1.2.3.4/32', 'for=1.2.3.4', '１.2.3.4', '1.2.3.4\0'],
  ])('is not read from %j', (text) => {
    expect(readAddress(text)).toBeUndefined();
  });

  it('is one in whichever form it is written', () => {
    const forms = (address: string) => [`[${address}]`, `"[${address}]:1"`, address.toUpperCase(), `${address}%3`];
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const read = readAddress(address);
        expect(read).toBeDefined();
        for (const form of forms(address)) expect(readAddress(form)).toBe(read);
        expect(readAddress(read ?? '')).toBe(read);
        expect(networkOf(address)).toBe(networkOf(read ?? ''));
      }),
    );
  });

  it('counts as its /64, or alone for IPv4', () => {
    expect(networkOf('2001:DB8::1')).toBe('2001:db8:0:0::/64');
    expect(networkOf('2001:db8:0:0:ffff::7')).toBe('2001:db8:0:0::/64');
    expect(networkOf('2001:db8:0:1::1')).toBe('2001:db8:0:1::/64');
    expect(networkOf('::1')).toBe('0:0:0:0::/64');
    expect(networkOf('::ffff:1.2.3.4')).toBe('1.2.3.4');
    expect(networkOf('')).toBe('');
  });
});

describe('trusted proxies', () => {
  it.each([
    ['10.0.0.0/8', '10.1.2.3:99', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '11.1.2.3', false],
    ['10.0.0.0/8', 'unknown', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['2001:db8::/32', '[2001:DB8::7]:443', true],
    ['2001:db8::1', '2001:db8::2', false],
    ['loopback', '127.8.0.1', true],
    ['loopback', '[::1]', true],
    ['uniquelocal', '192.168.0.9', true],
    ['linklocal', 'fe80::1%eth0', true],
    ['linklocal', '10.0.0.1', false],
  ])('of %s: %s is %s', (network, address, expected) => {
    expect(isNetwork(network)).toBe(true);
    expect(proxiesOf([network])(address)).toBe(expected);
  });

  it.each(['', 'proxy', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/8/8', 'fe80::1%eth0', '::/129', 'toString'])(
    'are none of %j',
    (network) => {
      expect(isNetwork(network)).toBe(false);
    },
  );
});

describe('the address of a client', () => {
  it.each([
    [['10.0.0.1'], '10.0.0.1'],
    [['10.0.0.1', '203.0.113.9:4711'], '203.0.113.9'],
    [['10.0.0.1', 'unknown'], '10.0.0.1'],
    [['::ffff:10.0.0.1', '[10.0.0.2]', '10.0.0.3:1', '_hidden'], '10.0.0.3'],
  ])('behind %j is %s', (ips, expected) => {
    expect(clientAddress({ ip: ips.at(-1) ?? '', ips })).toBe(expected);
  });

  it('without trusted proxies is that of the connection', () => {
    expect(clientAddress({ ip: '::ffff:203.0.113.9' })).toBe('203.0.113.9');
  });
});
