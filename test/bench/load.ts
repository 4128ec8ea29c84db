import autocannon, { type Client, type Request } from 'autocannon';
import { processorMicros } from './processor-time.ts';

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
  connections: number;
  seconds: number;
  /** One list per connection, sent over and over; without any, GET /. */
  requests?: readonly (readonly Request[])[];
}

export interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor time per request and process. */
  micros: Record<string, number>;
}

/** @throws where a request failed or was refused: a rate of errors is no rate */
export async function measure({ url, otherUrls = [], processes, settled }: Target, load: Load): Promise<Measured> {
  const before = timesOf(processes);
  let connection = 0;
  const running = autocannon({
    url: severalUrls([url, ...otherUrls]),
    connections: load.connections,
    duration: load.seconds,
    ...(load.requests && {
      setupClient: (client: Client) => {
        client.setRequests([...(load.requests?.[connection++ % load.requests.length] ?? [])]);
      },
    }),
  });
  const result = await running;
  await settled?.();
  const after = timesOf(processes);
  const answered = result['2xx'];
  if (result.errors + result.timeouts + result.non2xx > 0) {
    const codes = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => `${code}: ${count ?? 0}`);
    throw new Error(`${url}: ${result.errors} errors, ${result.timeouts} timeouts; answers ${codes.join(', ')}`);
  }
  const micros = Object.keys(processes).map((name) => [name, ((after[name] ?? 0) - (before[name] ?? 0)) / answered]);
  return {
    perSecond: answered / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    micros: Object.fromEntries(micros) as Record<string, number>,
  };
}

/** Autocannon spreads its connections evenly over several addresses, but its types allow only one. */
export function severalUrls(urls: readonly string[]): string {
  return [...urls] as unknown as string;
}

function timesOf(processes: Target['processes']): Record<string, number> {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, processorMicros(pid)]));
}
