import type { AppendOutcome, EventStore, EventToAppend, RecordedEvent, WholeLog } from '../ports/event-store.ts';
import { type FileEvent, readLogFile } from './log-file.ts';
import { LogHead, textOf } from './log-head.ts';
import { readWholeLog } from './whole-log.ts';

/** The store cannot take the file, or is not what the file says; the message is for the person who imports. */
export class ImportRefused extends Error {
  override readonly name = 'ImportRefused';
}

/** A connection to the store. Closing it gives up all appends that are on their way, and sends nothing more. */
interface ImportConnection extends Pick<EventStore, 'append'>, Pick<WholeLog, 'readAll'> {
  close: () => Promise<void>;
}

/** @param onUnknownOutcome told that an append was sent and that its outcome is not known, before it is sent again */
export type ConnectImport = (onUnknownOutcome: () => void) => ImportConnection;

interface ImportOptions {
  /** Told how many events of the file the store has. */
  progress: (events: number) => void;
  /** Told that the connection was given up, and how many events of the file the store has. */
  goesOn: (events: number) => void;
}

/** Appends on their way at a time: enough to keep a server busy, and not so many that a lost connection is felt. */
const maxAppendsUnderWay = 256;
const maxBatchEvents = 64;
const maxBatchBytes = 256 * 1024;

/**
 * Appends the events of a checked file to a store that has none of our events, each at exactly its revision and all in the order
 * of the file. A connection sends them in that order, and a server stores what one connection sends in the order of arrival. So
 * an append is never sent again behind a later one: as soon as the outcome of one is not known, the connection is given up with
 * everything that is on its way. The next connection reads what was stored, a beginning of the file, and goes on behind it. What
 * still arrives from the old one does no harm, since it comes in the same order, and the store takes each event once.
 *
 * @returns how many events were there before
 * @throws {ImportRefused} if the store has other events of ours, or has stored some in another order
 */
export async function importLog(connect: ConnectImport, file: string, options: ImportOptions): Promise<number> {
  const { before, isComplete } = await appendRest(connect, file, { ...options, isFirst: true });
  for (let isDone = isComplete; !isDone;) {
    ({ isComplete: isDone } = await appendRest(connect, file, { ...options, isFirst: false }));
  }
  return before;
}

interface AppendUnderWay {
  events: number;
  outcome: Promise<AppendOutcome>;
  first: FileEvent;
}

/** Appends what the store lacks over one connection, until the file ends or the outcome of an append is not known. */
async function appendRest(
  connect: ConnectImport,
  file: string,
  { progress, goesOn, isFirst }: ImportOptions & { isFirst: boolean },
): Promise<{ before: number; isComplete: boolean }> {
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= store.close());
  const store = connect(() => void close());
  const events = readLogFile(file);
  try {
    const before = await skipStored(store, events, isFirst ? notEmpty(file) : notInOrder(file));
    if (!isFirst) goesOn(before);
    progress(before);
    let imported = before;
    const underWay: AppendUnderWay[] = [];
    const settleOldest = async (): Promise<void> => {
      const oldest = underWay.shift();
      if (oldest) progress((imported += await storedEvents(oldest)));
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
    return { before, isComplete: true };
  } catch (error) {
    // A refusal came before the connection was given up, and is certain.
    if (closing === undefined || error instanceof ImportRefused) throw error;
    return { before: 0, isComplete: false };
  } finally {
    await events.return(undefined);
    await close();
  }
}

async function storedEvents({ events, outcome, first: { stream, revision } }: AppendUnderWay): Promise<number> {
  if ((await outcome) === 'stored') return events;
  throw new ImportRefused(
    `event ${String(revision)} of ${stream} cannot be appended: the file lacks events before it, or somebody else writes to the store`,
  );
}

/** Goes on in the file behind the events that the store has. @param refusal of a store that has not a beginning of the file */
async function skipStored(
  store: Pick<WholeLog, 'readAll'>,
  events: AsyncGenerator<FileEvent>,
  refusal: (stored: RecordedEvent) => ImportRefused,
): Promise<number> {
  let count = 0;
  for await (const page of readWholeLog(store)) {
    for (const stored of page) {
      const { value: event } = (await events.next()) as { value: FileEvent | undefined };
      if (!event || textOf(event) !== textOf(stored)) throw refusal(stored);
      count += 1;
    }
  }
  return count;
}

const notEmpty = (file: string) => (stored: RecordedEvent) =>
  new ImportRefused(`the store is not empty: ${nameOf(stored)} does not come from ${file}`);

const notInOrder = (file: string) => (stored: RecordedEvent) =>
  new ImportRefused(
    `the store is not a beginning of ${file}: appends were not answered, and it has ${nameOf(stored)} without what comes ` +
      'before it, or somebody else writes to it. Do not use it; import into an empty store again',
  );

const nameOf = ({ stream, revision }: RecordedEvent) => `its event ${String(revision)} of ${stream}`;

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
  store: Pick<WholeLog, 'readAll'>,
  expected: { events: number; head: string },
  { progress }: Pick<ImportOptions, 'progress'>,
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
