import { expect, it } from 'vitest';
import { pathOfTarget, requireTarget } from '../../src/requests/target.ts';

const asked = (url: string, hosts: readonly string[], httpVersion = '1.1') => ({
  url,
  httpVersion,
  headers: { ...(hosts[0] !== undefined && { host: hosts[0] }) },
  rawHeaders: hosts.flatMap((host) => ['hOST', host]),
});
const faultOf = (given: Parameters<typeof requireTarget>[0]) => {
  try {
    requireTarget({ ...given, url: pathOfTarget(given) });
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
};

it.each([
  ['/a?b', 'own', '/a?b'],
  ['http://own/a?b', 'own', '/a?b'],
  ['HTTP://OWN:80/a', 'own', '/a'],
  ['http://own', 'own:80', '/'],
  ['http://own?b', 'own', '/?b'],
  ['https://own:443/a', 'own', '/a'],
  ['http://[::1]:8080/a', '[::1]:8080', '/a'],
  ['http://own//evil/', 'own', '//evil/'],
  ['*', 'own', '*'],
])('%s is taken at the host %s', (url, host, path) => {
  expect([pathOfTarget(asked(url, [host])), faultOf(asked(url, [host]))]).toEqual([path, undefined]);
});

it.each(['http://evil/', 'http://own@evil/', 'http://evil@own/', 'http://own:81/', 'ftp://own/', 'http:///a', 'a:b'])(
  '%s is another host',
  (url) => {
    expect(faultOf(asked(url, ['own']))).toBe('The request line names another host than Host');
  },
);

it.each([
  '',
  ' ',
  'a b',
  'own/',
  'own?',
  'u@own',
  'own:x',
  'own:99999',
  '[::1',
  '::1',
  'a,b',
  'ö',
  '1.2.3.4.5',
  'http://own',
])('%j is no host', (host) => {
  expect(faultOf(asked('/', [host]))).toBe('Host: is not a host');
});

it('a request of HTTP/1.1 has one Host', () => {
  expect(faultOf(asked('/', []))).toBe('Host: is required');
  expect(faultOf(asked('/', [], '1.0'))).toBeUndefined();
  expect(faultOf(asked('/', ['own', 'own']))).toBe('Host: is given more than once');
  expect(faultOf(asked('http://own/', ['own', 'evil']))).toBe('Host: is given more than once');
});
