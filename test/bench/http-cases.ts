import type { Request } from 'autocannon';
import type { BenchAccount } from './population.ts';

/** What is asked, by many keys at random, the same of every server that answers it. */
export interface HttpCase {
  name: string;
  connections: number;
  requests: Request[][];
}

const perConnection = 500;
export const manyConnections = 64;
const body = JSON.stringify({ url: 'https://www.youtube.com/watch?v=aqz-KE-bpKQ', format: 'video', quality: '720' });

export interface Askers {
  many: readonly BenchAccount[];
  /** Those of them whose finished download has a file. */
  withFile: readonly BenchAccount[];
  /** One account with a thousand keys: its downloads all pass through one stream. */
  one: BenchAccount;
}

export function httpCases({ many, withFile, one }: Askers): HttpCase[] {
  const posts = ask(many, askDownload);
  const polls = ask(many, askStatus);
  return [
    { name: 'status poll', connections: manyConnections, requests: polls },
    ...few('status poll', polls),
    {
      name: 'status poll with a link',
      connections: manyConnections,
      requests: ask(withFile, (account) => get(account, `/api/v1/video/status?token=${account.doneToken}`)),
    },
    {
      name: 'credits',
      connections: manyConnections,
      requests: ask(many, (account) => get(account, '/api/v1/credits')),
    },
    { name: 'downloads, 10 000 accounts', connections: manyConnections, requests: posts },
    ...few('downloads, 10 000 accounts', posts),
    { name: 'downloads, one account', connections: manyConnections, requests: ask([one], askDownload) },
  ];
}

/** The same as a client alone, and four of them, ask. */
function few(name: string, requests: Request[][]): HttpCase[] {
  return fewConnections.map((count) => ({
    name: `${name}, ${connectionsNamed(count)}`,
    connections: count,
    requests: requests.slice(0, count),
  }));
}

export const fewConnections = [1, 4] as const;

export const connectionsNamed = (count: number): string => `${count} ${count === 1 ? 'connection' : 'connections'}`;

function ask(accounts: readonly BenchAccount[], request: (account: BenchAccount) => Request): Request[][] {
  return Array.from({ length: manyConnections }, () =>
    Array.from({ length: perConnection }, () => request(oneOf(accounts))),
  );
}

export function askStatus(account: BenchAccount): Request {
  return get(account, `/api/v1/video/status?token=${account.queuedToken}`);
}

function get(account: BenchAccount, path: string): Request {
  return { method: 'GET', path, headers: { authorization: `Bearer ${oneOf(account.keys).key}` } };
}

export function askDownload(account: BenchAccount): Request {
  const headers = { authorization: `Bearer ${oneOf(account.keys).key}`, 'content-type': 'application/json' };
  return { method: 'POST', path: '/api/v1/video/download', headers, body };
}

export function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
