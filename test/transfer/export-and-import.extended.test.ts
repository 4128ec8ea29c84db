import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Chain } from '../../src/audit/rules/chain.ts';
import { checkLogFile, writeLogFile } from '../../src/transfer/log-file.ts';
import { expectRefusal, within } from '../cli/command-line.ts';
import { portOf, startEventStore, type TestEventStore } from '../support/event-store.ts';
import { EventStoreProxy, type WayThrough } from '../support/event-store-proxy.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { isLongProof, scaled } from '../support/proof-scale.ts';
import { readLog } from '../support/read-log.ts';
import { spawnCommand } from '../support/service.ts';
import { temporaryDirectory, temporaryDirectoryOfFile } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { generatedLog } from './generated-log.ts';

/** The log goes from one embedded event store to another by way of a file, and is the same there. */
const count = scaled(2_000, 1_000_000);
const directory = temporaryDirectoryOfFile();
const generated = join(directory, 'generated.ndjson');

let database: Awaited<ReturnType<typeof createMigratedDatabase>>;
let source: TestEventStore;
beforeAll(async () => {
  database = await createMigratedDatabase();
  source = await startEventStore();
  const pages = async function* () {
    yield* generatedLog(count);
  };
  await writeLogFile(generated, { source: 'a test', exported: '2026-01-01T00:00:00.000Z' }, pages());
});
afterAll(async () => {
  await source.stop();
  await database.drop();
});

const environmentOf = (eventStoreUrl: string) => ({
  EVENTSTORE_URL: eventStoreUrl,
  DATABASE_URL: database.url,
  NATS_URL: 'nats://127.0.0.1:9',
  REELTALLY_SECRET: 'a secret that is long enough for a test',
});
const run = (eventStoreUrl: string, ...words: string[]) => within(environmentOf(eventStoreUrl))(...words);

interface Transferred {
  events: number;
  head: string;
  were_there?: number;
}

/** @throws where the command fails */
async function done(eventStoreUrl: string, ...words: string[]): Promise<Transferred> {
  const { code, stdout, stderr } = await run(eventStoreUrl, ...words, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Transferred;
}

const linesOf = (file: string) => {
  const bytes = readFileSync(file);
  return (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().trimEnd().split('\n');
};
/** Without its time of storing, which is each store's own. */
const eventOf = (line: string) => line.replace(/,"created":"[^"]*"\}$/, '}');

/** The hash of the last event of each stream, by the audit's own rules, which compute all of them anew. */
async function chainHeads(eventStoreUrl: string): Promise<Record<string, string | null>> {
  const chains = new Map<string, Chain>();
  for (const event of await readLog(eventStoreUrl)) {
    const wrong = () => expect.fail(`the chain of ${event.stream} is broken at ${String(event.revision)}`);
    const chain = chains.get(event.stream) ?? new Chain(event.stream, null, wrong);
    chain.follow({ ...event, position: 0n });
    chains.set(event.stream, chain);
  }
  return Object.fromEntries([...chains].map(([stream, { lastHash }]) => [stream, lastHash]));
}

describe('a log that is exported and imported', () => {
  it('has the same events in the same order, and the same chain heads, after two moves', async () => {
    const imported = await done(source.url, 'log', 'import', generated);
    expect(imported).toMatchObject({ events: count, were_there: 0 });

    const exported = join(directory, 'exported.ndjson.gz');
    expect(await done(source.url, 'log', 'export', exported)).toMatchObject({ events: count, head: imported.head });
    expect(statSync(exported).mode & 0o777).toBe(0o600);
    if (!isLongProof) {
      expect(linesOf(exported).slice(1, -1).map(eventOf)).toEqual(linesOf(generated).slice(1, -1).map(eventOf));
    }

    const target = await startEventStore();
    try {
      expect(await done(target.url, 'log', 'import', exported)).toMatchObject({ events: count, head: imported.head });
      if (!isLongProof) expect(await chainHeads(target.url)).toEqual(await chainHeads(source.url));
      // Once more changes nothing.
      expect(await done(target.url, 'log', 'import', exported)).toMatchObject({ events: count, were_there: count });
    } finally {
      await target.stop();
    }
  });

  it('goes into the data folder where no address is given, and on where it was killed', async () => {
    const data = join(temporaryDirectory(), 'data');
    const environment = { ...environmentOf(''), REELTALLY_DATA: data };
    const { EVENTSTORE_URL: _, ...embedded } = environment;
    const killed = spawnCommand(['log', 'import', generated], embedded);
    let told = '';
    for await (const text of killed.stderr.setEncoding('utf8')) {
      told += String(text);
      if (/^import +[3-6]\d %/m.test(told)) killed.kill('SIGKILL');
    }
    expect(told).not.toMatch(/^verify/m);

    // The store of the killed command needs an instant to end.
    const again = await waitFor(
      async () => {
        const ran = await within(embedded)('log', 'import', generated, '--json');
        return !ran.stderr.includes('Another event store has the log') && ran;
      },
      { what: 'the end of the killed store' },
    );
    const { events, were_there } = JSON.parse(again.stdout) as Required<Transferred>;
    expect(events).toBe(count);
    expect(were_there).toBeGreaterThan(0);
    expect(were_there).toBeLessThan(count);
  });
});

/** The file has all of it in its order; a store that had stored an append before an earlier one would have another head. */
describe('an import whose appends are not all answered goes on behind what was stored, in the order of the file', () => {
  let target: TestEventStore;
  beforeEach(async () => {
    target = await startEventStore();
  });
  afterEach(() => target.stop());

  it('where the connection is lost again and again', async () => {
    const proxy = await EventStoreProxy.start(portOf(target.url));
    onTestFinished(() => proxy.close());
    let isOver = false;
    const importing = done(proxy.url, 'log', 'import', generated).finally(() => (isOver = true));
    const cuts: [WayThrough, number][] = [
      ['to_client', 4_000],
      ['to_server', 60_000],
      ['to_server', 150_000],
      ['to_server', 300_001],
    ];
    for (const [way, afterBytes] of cuts) {
      const before = proxy.cuts;
      proxy.cutAfter(way, afterBytes);
      await waitFor(() => isOver || proxy.cuts > before, { what: 'the cut' });
    }
    expect(await importing).toMatchObject({ events: count, were_there: 0 });
    expect(proxy.cuts).toBe(cuts.length);
  });

  it('where it was stopped for longer than a server waits for an append', async () => {
    const waitMs = 200;
    const environment = environmentOf(`${target.url}&defaultDeadline=${String(waitMs)}`);
    const importing = spawnCommand(['log', 'import', generated], environment);
    const closed = once(importing, 'close');
    let told = '';
    for await (const text of importing.stderr.setEncoding('utf8')) {
      told += String(text);
      if (!/^import +[1-8]\d %/m.test(String(text))) continue;
      importing.kill('SIGSTOP');
      const stoppedMs = performance.now();
      await waitFor(() => performance.now() > stoppedMs + 2 * waitMs, { what: 'the end of the time limit' });
      importing.kill('SIGCONT');
    }
    await closed;
    expect(importing.exitCode, told).toBe(0);
  });
});

it('two exports at once to one file both write the whole of it', async () => {
  const folder = temporaryDirectory();
  const file = join(folder, 'log.ndjson');
  const [begun, goOn] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const exported = { source: 'a test', exported: '2026-01-01T00:00:00.000Z' };
  const early = async function* () {
    yield* generatedLog(9);
    await begun.promise;
  };
  const late = async function* () {
    begun.resolve(undefined);
    yield* generatedLog(9);
    await goOn.promise;
  };
  const heads = [writeLogFile(file, exported, early()), writeLogFile(file, exported, late())];
  await heads[0];
  await checkLogFile(file, () => undefined);
  goOn.resolve(undefined);
  await heads[1];
  await checkLogFile(file, () => undefined);
  expect(readdirSync(folder)).toEqual(['log.ndjson']);
});

describe('an import', () => {
  it('into a store with other events is refused, and stores nothing', async () => {
    const target = await startEventStore();
    try {
      const own = join(temporaryDirectory(), 'own.ndjson');
      const other = async function* () {
        yield [...generatedLog(6)].flat().slice(2, 3);
      };
      await writeLogFile(own, { source: 'a test', exported: '2026-01-01T00:00:00.000Z' }, other());
      await done(target.url, 'log', 'import', own);
      expectRefusal(await run(target.url, 'log', 'import', generated), /not empty: its event 0 of job-/);
      expect(await done(target.url, 'log', 'import', own)).toMatchObject({ events: 1, were_there: 1 });
    } finally {
      await target.stop();
    }
  });

  it('of a file that lacks the beginning of a stream ends, and says which event is missing', async () => {
    const target = await startEventStore();
    try {
      const file = join(temporaryDirectory(), 'gap.ndjson');
      const withoutFirst = async function* () {
        yield [...generatedLog(9)].flat().slice(1);
      };
      await writeLogFile(file, { source: 'a test', exported: '2026-01-01T00:00:00.000Z' }, withoutFirst());
      expectRefusal(
        await run(target.url, 'log', 'import', file),
        /event 1 of usage-acc_\w+-20260101 cannot be appended/,
      );
    } finally {
      await target.stop();
    }
  });
});

describe('a file that was damaged is refused before anything is imported', () => {
  const text = () => readFileSync(generated, 'utf8').split('\n');
  const swapped = () => {
    const lines = text();
    [lines[100], lines[101]] = [lines[101] ?? '', lines[100] ?? ''];
    return lines.join('\n');
  };
  const flipped = (at: number) => {
    const bytes = Buffer.from(text().join('\n'));
    bytes[at]! ^= 1;
    return bytes;
  };
  const damages: [what: string, name: string, content: () => string | Buffer, message: RegExp][] = [
    ['no exported log', 'notes.txt', () => 'hello\n', /line 1 of .* is damaged: it is no JSON/],
    ['other JSON', 'other.json', () => '{"a":1}\n', /is no exported log/],
    ['a newer format', 'newer.json', () => '{"format":"reeltally-log","version":2}\n', /has version 2 of the format/],
    ['empty', 'empty.json', () => '', /no last line: it was cut off after line 0/],
    ['cut off within a line', 'cut.ndjson', () => text().join('\n').slice(0, 20_000), /cut off in the middle/],
    ['cut off between lines', 'cut.ndjson', () => `${text().slice(0, 500).join('\n')}\n`, /cut off after line 500/],
    ['lines swapped', 'swapped.ndjson', swapped, /was changed after it was written/],
    [
      'a line doubled',
      'doubled.ndjson',
      () =>
        text()
          .toSpliced(9, 0, text()[9] ?? '')
          .join('\n'),
      /2001 events/,
    ],
    ['a line missing', 'missing.ndjson', () => text().toSpliced(9, 1).join('\n'), /1999 events/],
    ['twice the file', 'twice.ndjson', () => text().join('\n').repeat(2), /goes on after its last line/],
    ['cut off, compressed', 'cut.gz', () => gzipSync(text().join('\n')).subarray(0, 5_000), /cannot be decompressed/],
  ];
  // The texts of the messages are those of the usual count.
  it.runIf(!isLongProof).each(damages)('%s', async (_what, name, content, message) => {
    const file = join(temporaryDirectory(), name);
    writeFileSync(file, content());
    await expectNothingImported(file, message);
  });

  it.runIf(!isLongProof)('a bit flipped, anywhere', async () => {
    const file = join(temporaryDirectory(), 'flipped.ndjson');
    const { size } = statSync(generated);
    for (const share of [0.000_01, 0.1, 0.37, 0.5, 0.77, 0.999_9]) {
      writeFileSync(file, flipped(Math.floor(size * share)));
      await expectNothingImported(file, /damaged|changed after it was written|no exported log|version|cut off/);
    }
  });

  async function expectNothingImported(file: string, message: RegExp): Promise<void> {
    const data = join(temporaryDirectory(), 'data');
    const { EVENTSTORE_URL: _, ...embedded } = { ...environmentOf(''), REELTALLY_DATA: data };
    expectRefusal(await within(embedded)('log', 'import', file), message);
    // Not even the folder was made.
    expect(() => statSync(data)).toThrow('ENOENT');
  }
});

describe('an export', () => {
  it('never replaces a file', async () => {
    const file = join(temporaryDirectory(), 'there.ndjson');
    writeFileSync(file, 'mine');
    expectRefusal(await run(source.url, 'log', 'export', file), /there\.ndjson exists: name another file/);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('to a place that cannot be written is refused in one sentence', async () => {
    const file = join(temporaryDirectory(), 'missing', 'log.ndjson');
    expectRefusal(await run(source.url, 'log', 'export', file), /cannot be read or written: ENOENT/);
  });
});
