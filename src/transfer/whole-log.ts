import type { RecordedEvent, WholeLog } from '../ports/event-store.ts';

const pageEvents = 1_000;

/**
 * Our events, page by page in the order of the log, up to its end, without the metadata of streams. The next page is read while
 * one is being used.
 *
 * @param upTo position of the last event that is wanted, for a log that others write to meanwhile
 */
export async function* readWholeLog(
  log: Pick<WholeLog, 'readAll'>,
  upTo?: bigint,
): AsyncGenerator<readonly RecordedEvent[]> {
  let next = log.readAll(-1n, pageEvents);
  for (;;) {
    const page = await next;
    const last = page.at(-1);
    if (!last) return;
    if (upTo !== undefined && last.position >= upTo) {
      yield page.filter((event) => event.position <= upTo && isOfStream(event));
      return;
    }
    next = log.readAll(last.position, pageEvents);
    // It is awaited by the next round, unless the reader gives up before.
    next.catch(() => undefined);
    yield page.filter(isOfStream);
  }
}

const isOfStream = ({ stream }: RecordedEvent) => !stream.startsWith('$$');
