import { channel } from 'node:diagnostics_channel';
import { type AddressInfo, connect, type Server } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createEgressGuard, type EgressGuard } from '../../src/downloader/egress/connection-guard.ts';
import { startEgressProxy } from '../../src/downloader/egress/proxy.ts';
import type { Sandbox } from '../../src/downloader/sandbox/open-sandbox.ts';
import { type GuardReport, testSandbox } from '../../src/downloader/self-test.ts';
import { requireGuards } from '../../src/main/downloader-sandbox.ts';
import { sandboxOfFile } from './sandbox-of-file.ts';

const { directory, reaper, sandbox: openedSandbox } = sandboxOfFile();

const guardThatHolds = createEgressGuard({ allowed: [], onRefused: () => undefined });

/** Tries the guards, some of them sabotaged; the others must be what they are without. */
async function tryGuards(
  sabotage: { guard?: EgressGuard; namespaces?: Sandbox['namespaces']; missing?: Sandbox['missing'] } = {},
): Promise<GuardReport[]> {
  const {
    guard = guardThatHolds,
    namespaces = openedSandbox().namespaces,
    missing = openedSandbox().missing,
  } = sabotage;
  // The socket inside the children's network is given away with the first proxy that is closed.
  const inside = namespaces.nsenter && sabotage.guard === undefined && sabotage.namespaces === undefined;
  const { nsenter: _network, ...withoutNetwork } = namespaces;
  const proxy = await startEgressProxy({
    guard,
    ...(inside && openedSandbox().listener && { listener: openedSandbox().listener }),
  });
  try {
    const held = inside ? namespaces : withoutNetwork;
    return await testSandbox({ sandbox: { namespaces: held, missing }, egress: proxy, directory, reaper });
  } finally {
    await proxy.close();
  }
}

const failedOf = (reports: readonly GuardReport[]) => reports.filter(({ state }) => state === 'failed');
const namesOf = (reports: readonly GuardReport[]) => failedOf(reports).map(({ guard }) => guard);
const isToBeHad = (name: string) => openedSandbox().missing.every(({ guard }) => guard !== name);

describe('the test at start', () => {
  test('finds a proxy that lets a child reach this machine', async () => {
    const guard: EgressGuard = { connect: async (host, port) => connect({ host, port }) };
    expect(namesOf(await tryGuards({ guard }))).toContain('proxy');
  });

  test('finds a network that is not closed, though it was said to be', async () => {
    expect(namesOf(await tryGuards({ namespaces: openedSandbox().namespaces }))).toEqual(['network'].filter(isToBeHad));
  });

  test('finds files and privileges that are open', async () => {
    const { view: _view, setpriv: _setpriv, ...open } = openedSandbox().namespaces;
    const missing: Sandbox['missing'] = [...openedSandbox().missing, { guard: 'network', why: 'left out' }];
    expect(namesOf(await tryGuards({ namespaces: open, missing }))).toEqual(
      ['files', 'privileges', 'calls'].filter(isToBeHad),
    );
  });

  test('finds nothing where all is well, also while others on this machine connect to its listener', async () => {
    const visits: Promise<void>[] = [];
    const visit = (message: unknown) => {
      const { port } = (message as { server: Server }).server.address() as AddressInfo;
      visits.push(
        new Promise((resolve) => {
          connect({ host: '127.0.0.1', port }).on('connect', resolve).end('GET / HTTP/1.1\r\n\r\n');
        }),
      );
    };
    const listening = channel('tracing:net.server.listen:asyncEnd');
    listening.subscribe(visit);
    const reports = await tryGuards().finally(() => listening.unsubscribe(visit));
    await Promise.all(visits);
    expect(visits).not.toHaveLength(0);
    expect(failedOf(reports)).toEqual([]);
    expect(reports.filter(({ state }) => state === 'missing')).toHaveLength(openedSandbox().missing.length);
  });

  test('a guard that does not hold is a refusal to take work, and says which', () => {
    const on = { guard: 'proxy', state: 'on', detail: '' } as const;
    expect(() => requireGuards([on, { guard: 'files', state: 'missing', detail: 'not allowed' }])).not.toThrow();
    expect(() => requireGuards([on, { guard: 'disk', state: 'failed', detail: 'it was filled' }])).toThrow(
      /^No downloads are taken: .*\n {2}disk: it was filled\n/,
    );
  });
});
