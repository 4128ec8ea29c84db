import type { AppendOutcome, EventStore, EventToAppend, WholeLog } from '../ports/event-store.ts';
import { readLogFile } from './log-file.ts';
import type { FileEvent } from './log-file.ts';
import { LogHead, textOf } from './log-head.ts';
import { readWholeLog } from './whole-log.ts';

/** The store cannot take the file, or is not what the file says; the message is for the person who imports. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused';
}

type Target = Pick<EventStore, 'append'> & Pick<WholeLog, 'readAll'>;

interface ImportOptions {
  /** Told how many events of the file the store has. */
  progress: (events: number) => void;
}

/** Appends on their way at a time: enough to keep a server busy, and not so many that a lost connection is felt. */
const maxAppendsUnderWay = 256;
const maxBatchEvents = 64;
const maxBatchBytes = 256 * 1024;

/**
 * Appends the events of a checked file to a store that has none of our events, each at exactly its revision and all in the order
 * of the file. One connection sends them in that order, and a server stores what one connection sends in the order of arrival;
 * so an import that was killed has stored a beginning of the file, and is continued behind it. Appends that are sent again need
 * not keep that order: `verifyImport` finds it, and the store is of no use then.
 *
 * @returns how many events were there before
 * @throws {ImportRefused} if the store has other events of ours
 */
export async function importLog(store: Target, file: string, { progress }: ImportOptions): Promise<number> {
  const events = readLogFile(file);
  const before = await skipStored(store, events, file);
  progress(before);
  let imported = before;
  const underWay: { events: number; outcome: Promise<AppendOutcome>; first: FileEvent }[] = [];
  const settleOldest = async (): Promise<void> => {
    const oldest = underWay.shift();
    if (!oldest) return;
    const outcome = await oldest.outcome;
    if (outcome !== 'stored') {
      const { stream, revision } = oldest.first;
      throw new ImportRefused(
        `event ${String(revision)} of ${stream} cannot be appended: the file lacks events before it, or somebody else writes to the store`,
      );
    }
    imported += oldest.events;
    progress(imported);
  };
  for await (const batch of batchesOf(events)) {
    if (underWay.length >= maxAppendsUnderWay) await settleOldest();
    const [first] = batch;
    const { stream, revision } = first;
    const outcome = store.append(stream, revision === 0 ? 'no_stream' : revision - 1, batch.map(toAppend));
    // It is awaited in its turn; until then a failure must not end the process.
    outcome.catch(() => undefined);
    underWay.push({ events: batch.length, outcome, first });
  }
  while (underWay.length > 0) await settleOldest();
  return before;
}

/** Goes on in the file behind the events that the store has. */
async function skipStored(store: Target, events: AsyncGenerator<FileEvent>, file: string): Promise<number> {
  let count = 0;
  for await (const page of readWholeLog(store)) {
    for (const stored of page) {
      const { value: event } = (await events.next()) as { value: FileEvent | undefined };
      if (!event || textOf(event) !== textOf(stored)) {
        throw new ImportRefused(
          `the store is not empty: its event ${String(stored.revision)} of ${stored.stream} does not come from ${file}`,
        );
      }
      count += 1;
    }
  }
  return count;
}

const toAppend = ({ id, type, data, metadata }: FileEvent) => ({ id, type, data, metadata }) as EventToAppend;

/** Events of one stream that follow each other in the file, together. */
async function* batchesOf(events: AsyncIterable<FileEvent>): AsyncGenerator<[FileEvent, ...FileEvent[]]> {
  let batch: [FileEvent, ...FileEvent[]] | undefined;
  let bytes = 0;
  for await (const event of events) {
    const fits =
      batch?.[0].stream === event.stream && batch.length < maxBatchEvents && bytes + event.bytes <= maxBatchBytes;
    if (batch && fits) batch.push(event);
    else {
      if (batch) yield batch;
      [batch, bytes] = [[event], 0];
    }
    bytes += event.bytes;
  }
  if (batch) yield batch;
}

/**
 * Reads the whole store again.
 *
 * @throws {ImportRefused} unless it has exactly the events of the file, in the same order
 */
export async function verifyImport(
  store: Target,
  expected: { events: number; head: string },
  { progress }: ImportOptions,
): Promise<void> {
  const found = new LogHead();
  for await (const page of readWholeLog(store)) {
    for (const event of page) found.add(textOf(event));
    progress(found.events);
  }
  if (found.events === expected.events && found.hash === expected.head) return;
  throw new ImportRefused(
    `the store is not what the file says: it has ${String(found.events)} events with the chain head ${found.hash}, the file ` +
      `${String(expected.events)} with ${expected.head}. Do not use it; import into an empty store again`,
  );
}
