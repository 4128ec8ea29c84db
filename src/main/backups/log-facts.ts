import { createHash } from 'node:crypto';
import { z } from 'zod';
import { chainHash, firstPreviousHash } from '../../commands/handler/hash-chain.ts';
import { isOurStream } from '../../domain/is-our-stream.ts';
import { type CopiedEvent, openCopiedLog } from '../../embedded/event-store/copied-log.ts';

export const logFacts = z.object({
  /** Position of the last event: the mark. Everything that was acknowledged up to here is in the copy. */
  position: z.string(),
  /** Events and streams of this service. */
  events: z.int(),
  streams: z.int(),
  /** SHA-256 over the name, last revision and last hash of each stream. */
  heads: z.string(),
  /** Events that are not chained to the one before them; `ledger verify` lists them. */
  brokenLinks: z.int(),
});
export type LogFacts = z.infer<typeof logFacts>;

/**
 * Reads a copy of the embedded event store's log from its first event to its last, and computes the hash chain of each of our
 * streams anew.
 *
 * @throws if the file is damaged
 */
export function readLogFacts(file: string, prefix: string): LogFacts {
  using log = openCopiedLog(file);
  const heads = createHash('sha256');
  const facts = { position: log.headPosition().toString(), events: 0, streams: 0, brokenLinks: 0 };
  let last = { stream: '', revision: -1, hash: '' };
  for (const event of log.events()) {
    const stream = event.stream.slice(prefix.length);
    if (!event.stream.startsWith(prefix) || !isOurStream(stream)) continue;
    if (stream !== last.stream) {
      heads.update(`${last.stream} ${String(last.revision)} ${last.hash}\n`);
      last = { stream, revision: -1, hash: firstPreviousHash(stream) };
      facts.streams += 1;
    }
    const { stored, computed } = linkOf({ ...event, stream }, last.hash);
    if (stored !== computed || event.revision !== last.revision + 1) facts.brokenLinks += 1;
    last = { stream, revision: event.revision, hash: stored };
    facts.events += 1;
  }
  heads.update(`${last.stream} ${String(last.revision)} ${last.hash}\n`);
  return { ...facts, heads: heads.digest('hex') };
}

/** The hash that an event has, and the one that it should have. An event that cannot be read has none. */
function linkOf(event: CopiedEvent, previousHash: string): { stored: string; computed: string | undefined } {
  try {
    const [data, metadata] = [event.data, event.metadata].map((bytes) => JSON.parse(utf8.decode(bytes)) as object);
    const { hash: stored, ...unchained } = metadata as { hash: string };
    const { stream, revision, id, type } = event;
    return { stored, computed: chainHash(previousHash, { stream, revision, id, type, data, metadata: unchained }) };
  } catch {
    return { stored: '', computed: undefined };
  }
}

const utf8 = new TextDecoder();
