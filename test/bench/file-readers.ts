import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { deriveKeys } from '../../src/adapters/derive-keys.ts';
import { connectEventStore } from '../../src/adapters/event-store/event-store.ts';
import { createLocalFileStore } from '../../src/adapters/files/local-file-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { appendAll, GeneratedAccount } from '../projections/generated-account.ts';
import { peakMebibytes } from '../support/process-memory.ts';
import { type Bench, startBench } from './engines.ts';
import { type Figure, progress, ratio, type Results, series } from './figures.ts';
import { startNginx } from './nginx.ts';
import { processorMicros } from './processor-time.ts';
import { readFile } from './read-file.ts';

interface FileServer {
  name: string;
  /** Of the file. */
  url: string;
  pid: number;
}

/** One server under one load, in each round. */
interface FileSeries {
  server: FileServer;
  readers: number;
  rounds: Measured[];
}

interface Measured {
  mebibytesPerSecond: number;
  microsPerMebibyte: number;
  /** Of resident memory. */
  peakMebibytes: number;
}

const ourName = 'reeltally';
const readerCounts = [1, 16, 256];
const mebibyte = 1024 * 1024;
/** So that one reader, too, keeps a server at work long enough to measure: it reads the file again and again. */
const leastMebibytes = 1_024;
/** More than the readers of any round. */
const connectionLimit = '1000';

/** A large file, read by one reader or by many at a time, from the service and from servers that do nothing else. */
export async function benchFiles({
  rounds,
  fileMebibytes,
}: {
  rounds: number;
  /** Size of the file. */
  fileMebibytes: number;
}): Promise<Results> {
  await using bench = await startBench();
  const content = randomBytes(fileMebibytes * mebibyte);
  const ours = await startOurs(bench, content);
  const bare = await bench.startContender('bare-files.ts', ours.path);
  const nginx = await startNginx(bench.directory, bench.directory);
  if (!nginx) progress('nginx is left out: it is not on the PATH');
  const servers: FileServer[] = [
    { name: ourName, url: ours.url, pid: ours.pid },
    ...(nginx
      ? [{ name: 'nginx', url: `${nginx.url}${ours.path.slice(bench.directory.length)}`, pid: nginx.pid }]
      : []),
    { name: 'bare node:http', url: bare.url, pid: bare.pid },
  ];
  const idle = servers.map(({ name, pid }): Figure => ({
    name: `${name}: memory before`,
    unit: 'MiB',
    values: [peakMebibytes(pid)],
  }));
  const all = readerCounts.flatMap((readers) => servers.map((server): FileSeries => ({ server, readers, rounds: [] })));
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const { server, readers, rounds: kept } of all) {
        progress(`round ${round} of ${rounds}: ${server.name}, ${named(readers)}`);
        kept.push(await measure(server, readers, { content, isFirst: round === 0 }));
      }
    }
  } finally {
    await nginx?.stop();
  }
  return { ratios: all.flatMap((each) => ratiosOf(each, all)), figures: [...idle, ...all.flatMap(figuresOf)] };
}

/** A finished download as a worker leaves it: the file in the store, its digest in the log. */
async function startOurs(bench: Bench, content: Buffer): Promise<{ url: string; pid: number; path: string }> {
  const api = await bench.startRole('api', {
    MAX_CONNECTIONS_PER_LINK: connectionLimit,
    MAX_CONNECTIONS_PER_ADDRESS: connectionLimit,
  });
  const store = connectEventStore({ url: bench.addresses.EVENTSTORE_URL, logger: pino({ level: 'silent' }) });
  const account = new GeneratedAccount();
  await appendAll(store, [...account.open(), account.queue(1)]);
  const jobs = account.work();
  await appendAll(store, jobs);
  await store.close();
  const { token } = jobs[0]?.events[0]?.data as { token: string };
  const file = { token, claimRevision: 0, name: 'media.mp4' };
  const { id, linkKey: key } = deriveKeys(bench.secret);
  const directory = join(bench.directory, 'files');
  const signingKeys = { current: { id, key }, others: [] };
  const files = createLocalFileStore({ directory, downloadBaseUrl: () => api.url, signingKeys, nonce: newUuid });
  const incoming = join(bench.directory, 'incoming');
  await writeFile(incoming, content);
  await files.put(file, incoming, 'video/mp4');
  const expiresAtSeconds = Math.ceil(Date.now() / 1000) + 3_600;
  const url = await files.link(file, { expiresAtSeconds, downloadName: 'sample.mp4' });
  return { url, pid: api.pid, path: join(directory, token, '0', file.name) };
}

/** The first round warms everything up, and compares every byte. */
async function measure(
  { url, pid }: FileServer,
  readers: number,
  { content, isFirst }: { content: Buffer; isFirst: boolean },
): Promise<Measured> {
  const fileMebibytes = content.length / mebibyte;
  const times = isFirst ? 1 : Math.ceil(leastMebibytes / fileMebibytes / readers);
  forgetPeakMemory(pid);
  const [startedMs, usedMicros] = [performance.now(), processorMicros(pid)];
  await readTogether(url, { readers, times, content, compares: isFirst });
  const seconds = (performance.now() - startedMs) / 1_000;
  const mebibytes = readers * times * fileMebibytes;
  return {
    mebibytesPerSecond: mebibytes / seconds,
    microsPerMebibyte: (processorMicros(pid) - usedMicros) / mebibytes,
    peakMebibytes: peakMebibytes(pid),
  };
}

/** See proc(5), clear_refs. */
function forgetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

async function readTogether(
  url: string,
  { readers, times, ...expected }: { readers: number; times: number; content: Buffer; compares: boolean },
): Promise<void> {
  await Promise.all(Array.from({ length: readers }, () => series(times, () => readFile(url, expected))));
}

function ratiosOf({ server, readers, rounds }: FileSeries, all: readonly FileSeries[]): Figure[] {
  if (server.name !== ourName) return [];
  const others = all.filter((other) => other.readers === readers && other.server.name !== ourName);
  return others.flatMap((other) => [
    ratio(`${named(readers)}: throughput to ${other.server.name}`, rates(rounds), rates(other.rounds)),
    ratio(`${named(readers)}: CPU per MiB to ${other.server.name}`, micros(rounds), micros(other.rounds)),
  ]);
}

function figuresOf({ server, readers, rounds }: FileSeries): Figure[] {
  const name = `${server.name}: ${named(readers)}`;
  // In the first round, the server has no memory of earlier readers to use again.
  const peaks = rounds.slice(0, 1).map(({ peakMebibytes }) => peakMebibytes);
  return [
    { name, unit: 'MiB/s', values: rates(rounds) },
    { name: `${name}, CPU`, unit: 'µs/MiB', values: micros(rounds) },
    { name: `${name}, most memory`, unit: 'MiB', values: peaks },
    {
      name: `${name}, most memory in later rounds`,
      unit: 'MiB',
      values: rounds.slice(1).map(({ peakMebibytes: peak }) => peak),
    },
  ];
}

const rates = (rounds: readonly Measured[]) => rounds.slice(1).map(({ mebibytesPerSecond }) => mebibytesPerSecond);
const micros = (rounds: readonly Measured[]) => rounds.slice(1).map(({ microsPerMebibyte }) => microsPerMebibyte);
const named = (readers: number) => `${readers} ${readers === 1 ? 'reader' : 'readers'}`;
