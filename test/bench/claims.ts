import { setTimeout as sleep } from 'node:timers/promises';
import { AckPolicy, connect } from 'nats';
import { jobStream } from '../../src/domain/download-job-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import type { Bench } from './engines.ts';
import { median, progress, ratio, type Results } from './figures.ts';
import type { BenchAccount } from './population.ts';

/** In each round: with four of them, two hundred, of which two are above the 99th percentile. */
const samples = 50;

/** How long a download waits from its 202 until an idle worker has claimed it, beside a message through JetStream alone. */
export async function benchClaims(
  bench: Bench,
  store: EventStore,
  { account, rounds }: { account: BenchAccount; rounds: number },
): Promise<Results> {
  const roles = [await bench.startRole('api'), await bench.startRole('dispatcher'), await bench.startRole('worker')];
  const url = roles[0]?.url ?? '';
  // The first one wakes everything up.
  await claimMs(url, bench, store, account);
  const [claims, messages, all]: [number[], number[], number[]] = [[], [], []];
  for (let round = 1; round <= rounds; round += 1) {
    progress(`claims, round ${round} of ${rounds}`);
    const waited: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) waited.push(await claimMs(url, bench, store, account));
    claims.push(median(waited));
    all.push(...waited);
    messages.push(await messageMs(bench));
  }
  for (const role of roles) await role.stop();
  return {
    ratios: [ratio('202 until claimed: to a bare JetStream message', claims, messages)],
    figures: [
      { name: '202 until claimed, median', unit: 'ms', values: claims },
      // The percentile is that of all rounds together: that of one would be its slowest sample.
      { name: '202 until claimed, p99', unit: 'ms', values: [p99(all)] },
      { name: 'bare JetStream, publish until received, median', unit: 'ms', values: messages },
    ],
  };
}

const p99 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? NaN;

async function claimMs(url: string, bench: Bench, store: EventStore, { keys }: BenchAccount): Promise<number> {
  const key = keys[Math.floor(Math.random() * keys.length)]?.key ?? '';
  const response = await fetch(`${url}/api/v1/video/download`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    // A film that is private: the job ends soon, and does not come again.
    body: JSON.stringify({ url: `${bench.sampleUrl}/watch/private` }),
  });
  const acceptedMs = performance.timeOrigin + performance.now();
  const { data } = (await response.json()) as { data: { request_token: string } };
  for (;;) {
    const events = await store.read(jobStream(data.request_token), 0);
    const claimed = events.find(({ type }) => type === 'JobClaimed');
    if (claimed && events.some(({ type }) => type === 'JobFailed')) {
      // As the log dates it; less than a millisecond is not told apart from none.
      return Math.max(claimed.created.getTime() - acceptedMs, 0.5);
    }
    await sleep(20);
  }
}

async function messageMs({ addresses }: Bench): Promise<number> {
  const { host, username, password } = new URL(addresses.NATS_URL);
  const connection = await connect({ servers: host, user: username, pass: decodeURIComponent(password) });
  const manager = await connection.jetstreamManager();
  await manager.streams.add({ name: 'BENCH', subjects: ['bench'] });
  await manager.consumers.add('BENCH', { durable_name: 'bench', ack_policy: AckPolicy.Explicit });
  const jetStream = connection.jetstream();
  const received = await (await jetStream.consumers.get('BENCH', 'bench')).consume();
  const messages = received[Symbol.asyncIterator]();
  const waited: number[] = [];
  for (let sample = 0; sample < samples * 4; sample += 1) {
    const startedMs = performance.now();
    await jetStream.publish('bench', 'message');
    const next = await messages.next();
    waited.push(performance.now() - startedMs);
    if (next.done !== true) next.value.ack();
  }
  // Its end would wait for the iterator above, which nobody reads any more.
  received.stop();
  await manager.streams.delete('BENCH');
  await connection.close();
  return median(waited);
}
