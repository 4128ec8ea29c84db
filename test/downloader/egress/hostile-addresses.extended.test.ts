import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EgressProxy, startEgressProxy } from '../../../src/downloader/egress/proxy.ts';
import { startReaper } from '../../../src/downloader/sandbox/child-reaper.ts';
import type { Namespaces } from '../../../src/downloader/sandbox/launch.ts';
import { openSandbox, type Sandbox } from '../../../src/downloader/sandbox/open-sandbox.ts';
import { createVideoSource } from '../../../src/downloader/video-source.ts';
import { isLongProof, scaled } from '../../support/proof-scale.ts';
import { downloadFrom, findDownloader } from '../../support/sample-platform.ts';
import { temporaryDirectoryOfFile } from '../../support/temporary-directory.ts';
import { patienceMs } from '../../support/wait-for.ts';
import { allPluginsIn } from '../sandbox/parent-under-test.ts';
import { type Canaries, startCanaries } from './canaries.ts';
import { exchange } from './exchange.ts';
import { chanceFrom, descriptionOf, forbiddenAddresses, lures } from './hostile-addresses.ts';
import { type HostilePlatform, startHostilePlatform } from './hostile-platform.ts';

const seed = Number(process.env['PROOF_SEED']);
const directory = temporaryDirectoryOfFile();
const pluginsDirectory = allPluginsIn(directory);
let canaries: Canaries;
let platform: HostilePlatform;

beforeAll(async () => {
  canaries = await startCanaries();
  platform = await startHostilePlatform(canaries);
});
afterAll(async () => {
  await platform.close();
  await canaries.close();
});

/** Sends one request through the proxy, and gives what comes back. */
function ask(proxyUrl: string, address: string): Promise<string> {
  const { username, password, port } = new URL(proxyUrl);
  const authorization = `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}\r\n`;
  const [, scheme = '', authority = ''] = /^([a-z]+):\/\/([^/]*)/.exec(address) ?? [];
  const host = authority.replace(/^.*@/, '');
  const target = /:\d+$/.test(host) ? host : `${host}:443`;
  const plain = `GET ${address} HTTP/1.1\r\nHost: ${host}\r\n${authorization}Connection: close\r\n\r\n`;
  const tunnel = `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n`;
  return exchange(Number(port), scheme === 'https' ? tunnel : plain);
}

/** The greediest client there is: it follows every address that an answer holds, wherever it stands. */
async function follow(proxyUrl: string, address: string, hops = 5): Promise<void> {
  const heard = await ask(proxyUrl, address);
  expect(heard).not.toContain('secret');
  if (hops === 0) return;
  const found = [...heard.matchAll(/[a-z]{2,5}:\/\/[^\s"<>]+/gi)].map(([text]) => text);
  for (const next of new Set(found)) if (!next.includes('urn:')) await follow(proxyUrl, next, hops - 1);
}

function expectNothingReached(): void {
  expect(canaries.visits).toEqual([]);
  expect(platform.counts.elsewhere).toEqual([]);
  // Whoever was at the platform came by the guard.
  expect(platform.counts.accepted).toBe(platform.counts.dialled);
}

test('no answer of a platform leads the proxy anywhere but to public addresses', async () => {
  const chance = chanceFrom(seed);
  const proxy = await startEgressProxy({ guard: platform.guard });
  const cases = scaled(57, 900);
  const kinds = Object.keys(lures);
  const addresses = forbiddenAddresses(canaries);
  for (let index = 0; index < cases; index += 1) {
    const lure = lures[kinds[index % kinds.length] ?? ''];
    const pass = proxy.admit({ maxBytes: 10_000_000 });
    const to = index < addresses.length ? (addresses[index] ?? '') : chance(addresses);
    await follow(pass.proxyUrl, lure?.(platform, to) ?? to);
    pass.close();
  }
  await proxy.close();
  expectNothingReached();
  // The others are no names that anybody knows.
  expect(platform.counts.refused).toBeGreaterThan(cases / 2);
  if (isLongProof) {
    const { dialled, refused } = platform.counts;
    console.log(
      `${cases} hostile answers, seed ${seed}: ${dialled} connections to the platform, ${refused} destinations refused, 0 elsewhere`,
    );
  }
});

/** With and without the network of their own: the proxy alone has to hold yt-dlp too. */
async function withEngine(
  work: (sandbox: Sandbox, proxies: { inside: EgressProxy; outside: EgressProxy }) => Promise<void>,
) {
  const engine = await findDownloader();
  mkdirSync(join(directory, 'work', 'engine'), { recursive: true });
  const sandbox = await openSandbox({
    directory: join(directory, 'cell'),
    programs: [engine.ytDlpPath, engine.ffmpegPath, engine.ffprobePath],
    readable: [pluginsDirectory, join(directory, 'work', 'engine')],
  });
  const inside = await startEgressProxy({
    guard: platform.guard,
    ...(sandbox.listener && { listener: sandbox.listener }),
  });
  const outside = await startEgressProxy({ guard: platform.guard });
  try {
    await work(sandbox, { inside, outside });
  } finally {
    await Promise.all([inside.close(), outside.close()]);
    await sandbox.close();
  }
}

test('no answer of a platform leads yt-dlp there either', async () => {
  const chance = chanceFrom(seed + 1);
  const addresses = forbiddenAddresses(canaries);
  const kinds = Object.keys(lures);
  const cases = scaled(3, 100);
  await withEngine(async (sandbox, { inside, outside }) => {
    const engine = await findDownloader();
    const { nsenter: _network, ...withoutNetwork } = sandbox.namespaces;
    const reaper = startReaper();
    const sourceIn = (namespaces: Namespaces, egress: EgressProxy) =>
      createVideoSource({
        ...engine,
        egress,
        namespaces,
        reaper,
        pluginsDirectory,
        workDirectory: join(directory, 'work'),
        unpackedDirectory: join(directory, 'work', 'engine'),
        extractorOf: () => 'hostile',
        limits: {
          maxFileSizeBytes: 1e7,
          maxDurationSeconds: 60,
          attemptTimeoutMs: patienceMs,
          metadataTimeoutMs: patienceMs,
          maxVideoSide: 2160,
        },
      });
    const sources = [sourceIn(sandbox.namespaces, inside), sourceIn(withoutNetwork, outside)];
    for (let index = 0; index < cases; index += 1) {
      const kind = kinds[(index * 3 + seed) % kinds.length] ?? '';
      const to = chance(addresses);
      const id = platform.describe(descriptionOf(kind, lures[kind]?.(platform, to) ?? to, to));
      const attempt = join(directory, `attempt-${index}`);
      mkdirSync(attempt);
      const canonicalUrl = `http://${platform.host}/watch/${id}`;
      const video = { platform: 'hostile', videoId: id, canonicalUrl };
      const result = await downloadFrom(sources[index % 2]!, video, {}, attempt);
      expect({ kind, to, result }).toMatchObject({ kind, to, result: { ok: false } });
    }
    reaper.close();
  });
  expectNothingReached();
  if (isLongProof) console.log(`${cases} of them through yt-dlp, half of these without a network of their own`);
});
