import { v5 as uuidV5 } from 'uuid';
import { chainHash, firstPreviousHash } from '../../src/commands/handler/hash-chain.ts';
import type { RecordedEvent } from '../../src/ports/event-store.ts';

const namespace = '5f2d7c1e-3b0a-4c55-9d3e-0c2a6f1b7d10';
const startMs = Date.UTC(2026, 0, 1);
const pageEvents = 1_000;
/** A download: its charge, with the events behind it of the same append, and what its job goes through. */
const eventsOfDownload = ['DownloadCreditDebited', 'DownloadQueued', 'JobClaimed', 'JobProgressed', 'JobDone'] as const;

/** What breaks a reader that does not keep texts as they are: line ends within a text, escapes, and digits. */
const title = 'Zwölf Filme — “one”\u2028two\n\t\\ 🎬 é';

/**
 * A log of downloads over many accounts, in pages: streams, sizes and hash chains as the service writes them, the same for the
 * same count. What the events say is not what the rules would decide.
 */
export function* generatedLog(count: number): Generator<RecordedEvent[]> {
  const accounts = Math.max(3, Math.ceil(count / 5_000));
  const heads = new Map<string, { revision: number; hash: string }>();
  let page: RecordedEvent[] = [];
  for (let index = 0; index < count; index += 1) {
    const download = Math.floor(index / eventsOfDownload.length);
    const type = eventsOfDownload[index % eventsOfDownload.length] ?? '';
    const account = `acc_${String(download % accounts).padStart(16, '0')}`;
    const token = `A${String(download).padStart(31, '0')}`;
    const stream = type.startsWith('Download') ? `usage-${account}-20260101` : `job-${token}`;
    const head = heads.get(stream) ?? { revision: -1, hash: firstPreviousHash(stream) };
    const event = eventAt(index, { stream, type, token, account, head });
    heads.set(stream, { revision: event.revision, hash: (event.metadata as { hash: string }).hash });
    // A job's stream ends here; those of millions are not kept.
    if (type === 'JobDone') heads.delete(stream);
    page.push(event);
    if (page.length === pageEvents) {
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

function eventAt(
  index: number,
  place: { stream: string; type: string; token: string; account: string; head: { revision: number; hash: string } },
): RecordedEvent {
  const { stream, type, token, account, head } = place;
  const id = uuidV5(String(index), namespace);
  const time = new Date(startMs + index * 10).toISOString();
  const data = {
    token,
    account_id: account,
    title,
    10: 'ten',
    9: 1e21,
    cents: index % 97,
    format: { kind: 'video', side: 720 },
  };
  const actor = { type: 'api_key', id: `key_${account.slice(4)}` };
  const unchained = { $correlationId: id, $causationId: id, schema: 1, actor, time };
  const revision = head.revision + 1;
  const hash = chainHash(head.hash, { stream, revision, id, type, data, metadata: unchained });
  return {
    stream,
    revision,
    id,
    type,
    data,
    metadata: { ...unchained, hash },
    position: BigInt(index),
    created: new Date(time),
  };
}
