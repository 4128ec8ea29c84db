import autocannon, { type Client, type Request } from 'autocannon';
import { type Answered, oneClient } from './one-client.ts';
import { countVoluntarySwitches, processorMicros } from './processor-time.ts';

/** A server under load, and the processes whose work its answers need. */
export interface Target {
  url: string;
  /** Further processes that give the same answers: the connections are spread evenly over all of them. */
  otherUrls?: readonly string[];
  /** By what they are called in the table. */
  processes: Readonly<Record<string, number>>;
  /** Waits for work that an answer has left behind: it counts for the processor time, and must not burden the next server. */
  settled?: () => Promise<unknown>;
}

export interface Load {
  /** One is a client by itself, which sends a request when the last one is answered. */
  connections: number;
  seconds: number;
  /** One list per connection, sent over and over; without any, GET /. */
  requests?: readonly (readonly Request[])[];
}

export interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor time per request and process, with that of work that an answer has left behind. */
  micros: Record<string, number>;
  /** How often a thread of each process slept until it was woken, per request, while requests were sent. */
  switches: Record<string, number>;
}

/** @throws where a request failed or was refused: a rate of errors is no rate */
export async function measure(target: Target, load: Load): Promise<Measured> {
  const { url, processes, settled } = target;
  const [micros, switches] = [
    countPerRequest(processes, countMicros),
    countPerRequest(processes, countVoluntarySwitches),
  ];
  const { tookMs, seconds } =
    load.connections === 1 ? await oneClient(url, load.requests?.[0], load.seconds) : await manyClients(target, load);
  const answered = tookMs.length;
  const switched = switches(answered);
  await settled?.();
  tookMs.sort((one, other) => one - other);
  return {
    perSecond: answered / seconds,
    p50Ms: tookMs[Math.floor(answered * 0.5)] ?? NaN,
    p99Ms: tookMs[Math.floor(answered * 0.99)] ?? NaN,
    micros: micros(answered),
    switches: switched,
  };
}

/** Autocannon's own percentiles are whole milliseconds, so each answer is noted here. */
async function manyClients({ url, otherUrls = [] }: Target, load: Load): Promise<Answered> {
  let connection = 0;
  const tookMs: number[] = [];
  const result = await autocannon({
    url: severalUrls([url, ...otherUrls]),
    connections: load.connections,
    duration: load.seconds,
    setupClient: (client: Client) => {
      client.on('response', (_status, _bytes, responseMs) => tookMs.push(responseMs));
      if (load.requests) client.setRequests([...(load.requests[connection++ % load.requests.length] ?? [])]);
    },
  });
  if (result.errors + result.timeouts + result.non2xx > 0) {
    const codes = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => `${code}: ${count ?? 0}`);
    throw new Error(`${url}: ${result.errors} errors, ${result.timeouts} timeouts; answers ${codes.join(', ')}`);
  }
  return { tookMs, seconds: result.duration };
}

/** Autocannon spreads its connections evenly over several addresses, but its types allow only one. */
export function severalUrls(urls: readonly string[]): string {
  return [...urls] as unknown as string;
}

/** @returns what gives how much each process has counted since, for each of so many requests */
function countPerRequest(processes: Target['processes'], start: (pid: number) => () => number) {
  const counts = Object.entries(processes).map(([name, pid]) => ({ name, count: start(pid) }));
  return (requests: number): Record<string, number> =>
    Object.fromEntries(counts.map(({ name, count }) => [name, count() / requests]));
}

function countMicros(pid: number): () => number {
  const before = processorMicros(pid);
  return () => processorMicros(pid) - before;
}
