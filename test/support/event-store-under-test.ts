import { randomUUID } from 'node:crypto';
import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  type ResolvedEvent,
  type StreamSubscription,
} from '@eventstore/db-client';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { EndOfCatchUp } from '../../src/embedded/event-store/checkpoints.ts';
import { givenEngines } from './given-engines.ts';
import { openEventStore, type SharedEventStore } from './shared-event-stores.ts';
import { waitFor } from './wait-for.ts';

/** Another server's address: the suites then say whether that one gives the same answers. */
export const foreignUrl: string | undefined = givenEngines.eventStoreUrl;

export interface UnderTest {
  url: string;
  client: EventStoreDBClient;
}

/** One server for the tests of a file or block, and one client, since only one of a process may append. */
export function eventStoreUnderTest(endOfCatchUp?: EndOfCatchUp): UnderTest {
  const underTest: Partial<UnderTest> = {};
  let own: SharedEventStore | undefined;
  beforeAll(async () => {
    own = foreignUrl === undefined ? await openEventStore(endOfCatchUp) : undefined;
    underTest.url = own?.url ?? foreignUrl ?? '';
    underTest.client = EventStoreDBClient.connectionString(underTest.url);
  });
  afterAll(async () => {
    await underTest.client?.dispose();
    await own?.stop();
  });
  return underTest as UnderTest;
}

/** A stream name that nobody used before, on any server. */
export function freshStream(category = 'contract'): string {
  return `${category}-${randomUUID()}`;
}

export type TestEvent = ReturnType<typeof testEvent>;

export function testEvent(name: string, data: Record<string, unknown> = { name }, id: string = randomUUID()) {
  return jsonEvent({ id, type: `type-${name}`, data, metadata: { from: 'test' } });
}

/** Events of the types `type-0`, `type-1` and so on. */
export const testEvents = (count: number): TestEvent[] =>
  Array.from({ length: count }, (_, index) => testEvent(String(index)));

/** A new stream with so many events. */
export async function streamOf({ client }: UnderTest, count: number, stream = freshStream()): Promise<string> {
  await client.appendToStream(stream, testEvents(count), { expectedRevision: NO_STREAM });
  return stream;
}

/** Collects the messages of a subscription, in order, and ends it when the test has finished. */
export function listenTo(subscription: AllStreamSubscription | StreamSubscription, said: string[] = []) {
  subscription.on('confirmation', () => said.push('confirmation'));
  subscription.on('caughtUp', () => said.push('caughtUp'));
  subscription.on('data', ({ event }: ResolvedEvent | AllStreamResolvedEvent) => said.push(event!.type));
  subscription.on('error', (error: Error) => said.push(error.message));
  onTestFinished(() => subscription.unsubscribe());
  const until = async (word: string): Promise<string[]> => {
    await waitFor(() => said.includes(word), { what: `${word} after ${said.join()}` });
    return said;
  };
  return { said, until };
}

/** Everything that a read gives. */
export const collect = <Item>(items: AsyncIterable<Item>): Promise<Item[]> => Array.fromAsync(items);

/** The error with which something fails; fails itself where it does not. */
export async function errorOf(promise: Promise<unknown>): Promise<Record<string, unknown> & Error> {
  try {
    await promise;
  } catch (error) {
    return error as Record<string, unknown> & Error;
  }
  throw new Error('Expected an error; there was none.');
}
