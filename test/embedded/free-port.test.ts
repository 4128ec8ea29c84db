import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';

it('a free port is none that the system gives to an outgoing connection before a server listens on it', async () => {
  const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
  const [first = 0, last = 0] = range.trim().split(/\s+/).map(Number);
  const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
  expect(ports.filter((port) => port >= first && port <= last)).toEqual([]);
  expect(new Set(ports).size).toBeGreaterThan(40);
});
