/** Runs once before the tests of vitest.engines.config.ts: sees to it that there are engines to test against. */
import { BACKWARDS, END, type EventStoreDBClient, jsonEvent, StreamNotFoundError } from '@eventstore/db-client';
import { startContainers } from './containers.ts';
import { readGivenEngines } from './given-engines.ts';
import { connectTo } from './nats.ts';
import { withOfficialClient } from './official-client.ts';

const names = ['EVENTSTORE_URL', 'DATABASE_URL', 'NATS_URL'] as const;
const markerStream = 'engines_for_tests';
const markerQueue = 'ENGINES_FOR_TESTS';
const ours = /^(?:account|usage|job)-/;
const newestEvents = 1_000;

export default async function setUp(): Promise<(() => Promise<void>) | undefined> {
  if (process.env['TEST_ENGINES'] === 'containers') {
    const { addresses, stop } = await startContainers((sentence) => console.log(sentence));
    // The processes that run the tests inherit them.
    Object.assign(process.env, addresses);
    return stop;
  }
  const given = names.filter((name) => process.env[name]);
  if (given.length === 0) {
    throw new Error(`Set ${names.join(', ')} (or some of them) to the addresses of engines for tests alone.`);
  }
  for (const name of names) {
    console.log(`${name}: ${given.includes(name) ? 'as given' : 'not given, so the embedded one'}`);
  }
  const { eventStoreUrl, natsUrl } = readGivenEngines();
  if (eventStoreUrl !== undefined) await claimLog(eventStoreUrl);
  if (natsUrl !== undefined) await claimQueue(natsUrl);
  return undefined;
}

/** The tests would dispatch a real service's downloads again, and take its jobs from its workers: its engines are refused. */
function refuse(name: string): never {
  throw new Error(
    `${name} leads to an engine that a service has used, and the tests would harm that. Give engines for tests alone.`,
  );
}

/** Marks a log as one for tests, unless something else is in it already. */
async function claimLog(url: string): Promise<void> {
  await withOfficialClient(url, async (client) => {
    if (await isMarked(client)) return;
    const newest = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: newestEvents });
    for await (const { event } of newest) if (event && ours.test(event.streamId)) refuse('EVENTSTORE_URL');
    await client.appendToStream(markerStream, jsonEvent({ type: 'EnginesForTests', data: {} }));
  });
}

async function isMarked(client: EventStoreDBClient): Promise<boolean> {
  try {
    for await (const _event of client.readStream(markerStream, { maxCount: 1 })) return true;
    return false;
  } catch (error) {
    if (error instanceof StreamNotFoundError) return false;
    throw error;
  }
}

async function claimQueue(url: string): Promise<void> {
  const connection = await connectTo(url);
  try {
    const { streams } = await connection.jetstreamManager();
    const known = await Array.fromAsync(streams.list(), ({ config }) => config.name);
    if (known.includes(markerQueue)) return;
    if (known.includes('DOWNLOADS')) refuse('NATS_URL');
    await streams.add({ name: markerQueue, subjects: ['engines.for.tests'] });
  } finally {
    await connection.close();
  }
}
