import autocannon, { type Client, type Request } from 'autocannon';
import { sum } from '../support/sum.ts';
import { type Figure, progress } from './figures.ts';
import { askDownload, askStatus, oneOf } from './http-cases.ts';
import { severalUrls } from './load.ts';
import { type BenchAccount, hourlyLimit } from './population.ts';

const connections = 64;
/** Twice its limit, so that there are as many to refuse as to admit. */
const requestsPerKey = 2 * hourlyLimit;
/** So few that at any time several requests of a key are under way, in both processes. */
const keysAtOnce = 50;
const pollsPerDownload = 9;

/** A key, the requests that are sent for it, and how they were answered. */
interface TestedKey {
  admitted: number;
  refused: number;
  requests: Request[];
}

/**
 * Sends polls and downloads to all processes at random, of keys whose windows are empty.
 *
 * @throws unless each key was admitted exactly as often as its limit says, or always where it asked less often
 */
export async function testHourlyLimits(
  urls: readonly [string, string],
  accounts: readonly BenchAccount[],
  requests: number,
): Promise<Figure[]> {
  const keys = accounts.slice(0, Math.ceil(requests / requestsPerKey)).map(testedKey);
  progress(`${requests} requests of ${keys.length} keys to two processes at random`);
  const startedMs = performance.now();
  const result = await autocannon({
    url: severalUrls(urls),
    connections,
    amount: requests,
    setupClient: (client: Client) => {
      client.setRequests(randomRequests(keys, Math.ceil(requests / connections)));
    },
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const answered = sum(keys.map(({ admitted, refused }) => admitted + refused));
  if (result.errors + result.timeouts > 0 || answered !== requests)
    throw new Error(`${answered} of ${requests} requests were answered as expected; ${result.errors} errors`);
  requireExact(keys);
  const sumOf = (count: (key: TestedKey) => number) => sum(keys.map((key) => count(key)));
  const name = `hourly limits over two processes, ${keys.length} keys`;
  return [
    { name: `${name}: admitted`, unit: 'requests', values: [sumOf(({ admitted }) => admitted)] },
    { name: `${name}: refused`, unit: 'requests', values: [sumOf(({ refused }) => refused)] },
    { name: `${name}: rate`, unit: 'requests/s', values: [requests / seconds] },
  ];
}

function requireExact(keys: readonly TestedKey[]): void {
  const wrong = keys.filter(({ admitted, refused }) => admitted !== Math.min(admitted + refused, hourlyLimit));
  if (wrong.length > 0) {
    const counts = wrong.map(({ admitted, refused }) => `${admitted} of ${admitted + refused}`);
    throw new Error(`with a limit of ${hourlyLimit}, keys were admitted ${counts.slice(0, 10).join(', ')} times`);
  }
}

function testedKey(account: BenchAccount): TestedKey {
  const key: TestedKey = { admitted: 0, refused: 0, requests: [] };
  const onResponse = (status: number) => {
    if (status === 429) key.refused += 1;
    else if (status === 200 || status === 202) key.admitted += 1;
  };
  const poll = { ...askStatus(account), onResponse };
  key.requests = [...Array.from({ length: pollsPerDownload }, () => poll), { ...askDownload(account), onResponse }];
  return key;
}

/** One connection's requests. Others ask the same few keys at the same time. */
function randomRequests(keys: readonly TestedKey[], count: number): Request[] {
  const groups = Math.ceil(keys.length / keysAtOnce);
  return Array.from({ length: count }, (_, index) => {
    const first = Math.floor((index / count) * groups) * keysAtOnce;
    return oneOf(oneOf(keys.slice(first, first + keysAtOnce)).requests);
  });
}
