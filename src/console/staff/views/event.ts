import { z } from 'zod';
import { type EventPlace, findEvent, findEventsAround } from '../../../../projections/queries/event-places.ts';
import { chainHash, firstPreviousHash } from '../../../commands/handler/hash-chain.ts';
import { eventSentence } from '../../../documents/job-story.ts';
import { jobStream } from '../../../domain/download-job-events.ts';
import { isOurStream } from '../../../domain/is-our-stream.ts';
import { type DomainEvent, type EventMetadata, eventMetadata } from '../../../domain/parse-event.ts';
import { type EventStore, type RecordedEvent, storedData } from '../../../ports/event-store.ts';
import { missing } from '../../visit.ts';
import { type JsonView, pick } from '../view.ts';
import { customer } from './overage.ts';

const place = z.strictObject({ id: z.uuid(), type: z.string(), stream: z.string(), revision: z.int() });

const shown = z.strictObject({
  ...place.shape,
  position: z.string().describe('Commit position in the log.'),
  time: z.iso.datetime().describe("The event's own time, in UTC."),
  stored_at: z.iso.datetime().describe('When the log stored it, by its own clock.'),
  text: z.string().describe('What happened, in words; empty for an event that says all by its type.'),
  account_id: z.string().nullable(),
  customer,
  token: z.string().nullable().describe('The download that it is about.'),
  data: z.record(z.string(), z.unknown()),
  metadata: eventMetadata.describe('As the log has it; `hash` is the last part of the chain up to here.'),
  chain: z
    .strictObject({ previous_hash: z.string(), holds: z.boolean() })
    .describe('`holds`: the hash follows from the event and from the hash before it.'),
  before: place.nullable().describe('The event before it in its stream.'),
  after: place.nullable().describe('The event after it in its stream.'),
  cause: z
    .strictObject({
      id: z.string(),
      event: place.nullable().describe('Null for a command, or an event that is not known.'),
    })
    .describe('What directly caused it.'),
  caused: z.array(place).describe('The events that it has directly caused, as far as they are near or about the same.'),
  same_request: z.array(place).describe('Other events that began with the same request or command.'),
});
export type EventShown = z.infer<typeof shown>;

const input = z.object({
  id: z
    .string()
    .regex(/^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{1,9}@[\w-]{1,100})$/i, 'is not an event')
    .describe('Id of the event, or its place: `12@usage-…`, event 12 of that stream.'),
});

const nearEvents = 20;
const maxJobEvents = 100;
const readAtOnce = 1_000;

export const event: JsonView<z.infer<typeof input>, EventShown> = {
  operationId: 'getEvent',
  summary: 'One event, with what caused it and what it has caused',
  input,
  shown,
  read: async ({ pool, store }, { id }) => {
    const { stream, revision } = await placeOf(id, { pool, store });
    const from = Math.max(0, revision - 1);
    const near = await store.read(stream, from, nearEvents);
    const found = near.find((each) => each.revision === revision);
    const metadata = eventMetadata.safeParse(found?.metadata).data;
    if (!found || !metadata) throw missing();
    const data = found.data as Record<string, unknown>;
    const token = typeof data['token'] === 'string' ? data['token'] : null;
    const { $causationId: causationId, $correlationId: correlationId } = metadata;
    const around = await findEventsAround(pool, { causationId, correlationId, token });
    const accountId = accountOf(stream) ?? around.accountId;
    // Nothing of a download is shown before the log can say at whose data somebody has looked.
    if (token !== null && accountId === null) throw missing();
    const others = await readOthers(store, { near, token, related: around.related });
    const cause =
      others.find((each) => each.id === causationId) ?? (around.cause && (await readPlace(store, around.cause)));
    return {
      ...factsOf(found, metadata),
      account_id: accountId,
      customer: null,
      token,
      chain: chainOf(found, metadata, near),
      before: shownPlace(near.find((each) => each.revision === revision - 1)),
      after: shownPlace(near.find((each) => each.revision === revision + 1)),
      cause: { id: causationId, event: shownPlace(cause) },
      caused: placesOf(others, (each) => each.$causationId === found.id),
      same_request: placesOf(
        others.filter((each) => each.id !== found.id),
        (each) => each.$correlationId === correlationId && each.$causationId !== found.id,
      ),
    };
  },
  named: (shown) => [shown],
  accessRecords: ({ account_id: accountId, token }) =>
    accountId === null ? [] : [{ accountId, token, page: token === null ? 'account' : 'download' }],
};

type Log = Pick<EventStore, 'read'>;

/** What staff have looked at, and their own addresses, are no part of what staff look at here. */
const isShown = (stream: string) => isOurStream(stream) && !stream.startsWith('staff-');

async function placeOf(
  id: string,
  { pool, store }: { pool: Parameters<typeof findEvent>[0]; store: Log },
): Promise<{ stream: string; revision: number }> {
  const [revision = '', stream] = id.split('@');
  if (stream !== undefined) {
    if (!isShown(stream)) throw missing();
    return { stream, revision: Number(revision) };
  }
  const found = await findEvent(pool, id.toLowerCase());
  const place = found && (await readPlace(store, found));
  if (!place) throw missing();
  return place;
}

async function readPlace(store: Log, { event_id, stream, revision }: EventPlace): Promise<RecordedEvent | undefined> {
  const isIt = ({ id }: RecordedEvent) => id === event_id;
  if (revision !== null) return (await store.read(stream, revision, 1)).find(isIt);
  for (let from = 0; ; from += readAtOnce) {
    const page = await store.read(stream, from, readAtOnce);
    const found = page.find(isIt);
    if (found || page.length < readAtOnce) return found;
  }
}

/** Events that it may have caused: those behind it, those of its download, and those of its request. */
async function readOthers(
  store: Log,
  { near, token, related }: { near: readonly RecordedEvent[]; token: string | null; related: readonly EventPlace[] },
): Promise<RecordedEvent[]> {
  const ofJob = token === null ? [] : await store.read(jobStream(token), 0, maxJobEvents);
  const known = new Set([...near, ...ofJob].map(({ id }) => id));
  const more = await Promise.all(
    related.filter(({ event_id: id }) => !known.has(id)).map((place) => readPlace(store, place)),
  );
  const all = [...near, ...ofJob, ...more.filter((each) => each !== undefined)];
  return [...new Map(all.map((each) => [each.id, each])).values()];
}

function placesOf(events: readonly RecordedEvent[], matches: (metadata: EventMetadata) => boolean) {
  return events
    .filter((each) => {
      const metadata = eventMetadata.safeParse(each.metadata).data;
      return metadata !== undefined && matches(metadata);
    })
    .toSorted((one, other) => Number(one.position - other.position))
    .map((each) => pick(each, place.shape));
}

const shownPlace = (found: RecordedEvent | undefined): EventShown['before'] =>
  found ? pick(found, place.shape) : null;

function factsOf(found: RecordedEvent, metadata: EventMetadata) {
  const type = found.type as DomainEvent['type'];
  const data = found.data as Record<string, unknown>;
  return {
    ...pick(found, place.shape),
    position: found.position.toString(),
    data,
    metadata,
    time: metadata.time,
    stored_at: found.created.toISOString(),
    text: eventSentence({ type, data, actor: metadata.actor }),
  };
}

function chainOf(found: RecordedEvent, metadata: EventMetadata, near: readonly RecordedEvent[]): EventShown['chain'] {
  const { stream, revision, id, type } = found;
  const data = storedData(found);
  const before = near.find((each) => each.revision === revision - 1);
  const previous =
    revision === 0 ? firstPreviousHash(stream) : (eventMetadata.safeParse(before?.metadata).data?.hash ?? '');
  const { hash: _, ...unchained } = found.metadata as EventMetadata;
  const holds = chainHash(previous, { stream, revision, id, type, data, metadata: unchained }) === metadata.hash;
  return { previous_hash: previous, holds };
}

/** Streams of accounts have them in their names. */
const accountOf = (stream: string): string | null => /^[a-z]+-(acc_[a-z0-9]+)/.exec(stream)?.[1] ?? null;
