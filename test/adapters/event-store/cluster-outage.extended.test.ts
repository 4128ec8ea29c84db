import { describe, expect, onTestFinished, test } from 'vitest';
import { rememberingLogger } from '../../projections/read-models-under-test.ts';
import { portOf, startEventStore, type TestEventStore } from '../../support/event-store.ts';
import { appendNumbers, eventToAppend, numberOf, openAdapter, upTo } from '../../support/event-store-adapter.ts';
import { EventStoreProxy } from '../../support/event-store-proxy.ts';
import { freshStream } from '../../support/event-store-under-test.ts';
import { scaled } from '../../support/proof-scale.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const outageMs = scaled(3_000, 15_000);

const hosts = (proxies: readonly EventStoreProxy[]) => proxies.map(({ url }) => new URL(url).host);
const addresses = {
  'esdb://a,b,c': (proxies: readonly EventStoreProxy[]) => `esdb://${hosts(proxies).join(',')}?tls=false`,
  'esdb+discover://': (proxies: readonly EventStoreProxy[]) => `esdb+discover://${hosts(proxies)[0]!}?tls=false`,
};

interface Outage {
  begin: (server: TestEventStore) => Promise<void>;
  /** In the log, when the client has given up. */
  isFelt: (logged: string) => boolean;
  end: (server: TestEventStore, restart: () => Promise<TestEventStore>) => Promise<TestEventStore>;
}

const outages: Record<string, Outage> = {
  refuses: {
    begin: (server) => server.kill(),
    // The client tries ten times, and keeps the failure.
    isFelt: (logged) => logged.includes('Failed to discover after 10 attempts'),
    end: (_server, restart) => restart(),
  },
  'says nothing': {
    begin: ({ pid }) => Promise.resolve(void process.kill(pid, 'SIGSTOP')),
    isFelt: (logged) => logged.split('No answer within').length > 2,
    end: (server) => {
      process.kill(server.pid, 'SIGCONT');
      return Promise.resolve(server);
    },
  },
};

describe.each(Object.keys(addresses) as (keyof typeof addresses)[])('a cluster at %s', (form) => {
  test.each(Object.entries(outages))(
    'is used again after a time in which none of it answered (%s)',
    async (_name, { begin, isFelt, end }) => {
      const dataDirectory = temporaryDirectory();
      let server = await startEventStore({ dataDirectory });
      onTestFinished(() => server.stop());
      const port = portOf(server.url);
      const proxies = await Promise.all([1, 2, 3].map(() => EventStoreProxy.start(port)));
      for (const proxy of proxies) onTestFinished(() => proxy.close());
      // An outage that goes on is logged at debug.
      const { logger, text: logged } = rememberingLogger('debug');
      const store = openAdapter({ url: addresses[form](proxies), logger });
      const stream = freshStream();
      await appendNumbers(store, stream, 0, 2);
      await begin(server);
      const beganMs = performance.now();
      const appended = store.append(stream, 2, [eventToAppend(3)]);
      const seen: number[] = [];
      const subscription = store.subscribe({
        name: 'test',
        streamPrefixes: [stream],
        from: () => Promise.resolve(undefined),
        apply: ({ events }) => Promise.resolve(void seen.push(...events.map(numberOf))),
      });
      await waitFor(() => isFelt(logged()) && performance.now() - beganMs > outageMs, {
        what: 'the end of the outage',
      });
      expect(await store.ready({ timeoutMs: 100 })).toBe(false);
      server = await end(server, () => startEventStore({ dataDirectory, port }));
      expect(await appended).toBe('stored');
      expect((await store.read(stream, 0)).map(numberOf)).toEqual(upTo(3));
      await waitFor(() => subscription.caughtUp && seen.includes(3), { what: 'the events' });
      expect([...new Set(seen)]).toEqual(upTo(3));
    },
  );
});
