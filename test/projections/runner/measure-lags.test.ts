import { expect, it } from 'vitest';
import { measureLags } from '../../../projections/runner/wait-for-checkpoint.ts';
import { appendNumbers, eventToAppend, openAdapter } from '../../support/event-store-adapter.ts';
import { eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';
import { readModelsOfTest } from '../read-models-under-test.ts';

const server = eventStoreUnderTest();

it('a read model that is stuck stays behind, however many events of others follow', async () => {
  const store = openAdapter({ url: server.url });
  const { pool } = await readModelsOfTest(store, []);
  const [wanted, other] = [freshStream('wanted'), freshStream('other')];
  const [name, known] = ['stuck', new Map<string, bigint>()];
  const measure = () =>
    measureLags({ store, pool }, [{ name, streamPrefixes: [wanted] }], { maxEvents: 20, newestKnown: known });
  await appendNumbers(store, wanted, 0, 0);
  const [event] = await store.read(wanted, 0);
  const behind = [{ name, lag: event!.position }];
  expect(await measure()).toEqual(behind);
  const many = Array.from({ length: 60 }, (_, number) => eventToAppend(number));
  await store.append(other, 'no_stream', many);
  expect(await measure()).toEqual(behind);
  // A process that has not seen its event does not know.
  known.clear();
  expect(await measure()).toEqual([]);
});
