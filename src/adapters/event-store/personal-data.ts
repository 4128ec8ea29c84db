import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { EventStore, RecordedEvent, SealPersonalData, WholeLog } from '../../ports/event-store.ts';
import type { PersonalKey, PersonalKeyName, PersonalKeys } from '../../ports/personal-keys.ts';
import { decryptBytes, encryptBytes } from '../aes-gcm.ts';

/**
 * Personal data in the log: `data.personal` of an event is encrypted under a key of its account or member of staff, which is kept
 * outside of the log. Who deletes the key erases the data from the log and from every copy of it, and no event changes.
 *
 *     base64url( version ‖ nonce ‖ tag ‖ ciphertext )     AES-256-GCM of the canonical JSON (RFC 8785)
 *
 * The nonce is a MAC of the event's id and the text: so the same event gives the same bytes, and an append that is sent again is
 * identical. Stream, type and id are bound to it: nobody can move it to another event.
 */
const version = 1;

interface SealedPlace {
  stream: string;
  type: string;
  id: string;
}

/** The log has personal data under a key that cannot be used any more, and nobody said that it was erased. */
class PersonalKeyLost extends Error {
  override readonly name = 'PersonalKeyLost';

  constructor(stream: string, { subject, kind }: PersonalKeyName, why: string) {
    super(`no personal data can be written to ${stream}: the key of ${subject} ${kind} ${why}, and no other is made`);
  }
}

/** The key of an event's personal data. Documents show billing details for as long as tax law wants them. */
const keyNameOf = ({ stream, type }: Pick<SealedPlace, 'stream' | 'type'>): PersonalKeyName => ({
  subject: stream.slice(stream.indexOf('-') + 1),
  kind: type === 'BillingDetailsChanged' ? 'documents' : 'personal',
});

const derive = (key: Buffer, purpose: string) => createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)));

const contextOf = ({ stream, type, id }: SealedPlace) => JSON.stringify([stream, type, id]);

function seal(key: Buffer, personal: unknown, place: SealedPlace): string {
  const text = canonicalize(personal);
  if (text === undefined) throw new Error('personal data cannot be written as JSON');
  const nonce = createHmac('sha256', derive(key, 'reeltally nonce'))
    .update(`${place.id}\n${text}`)
    .digest()
    .subarray(0, 12);
  const encrypted = encryptBytes(derive(key, 'reeltally personal data'), Buffer.from(text), {
    nonce,
    context: contextOf(place),
  });
  return Buffer.concat([Buffer.of(version), encrypted]).toString('base64url');
}

/** @returns the sealed text where the key is unusable or another one, the form is not known here, or the event was changed */
function open(key: PersonalKey, sealed: string, place: SealedPlace): unknown {
  const bytes = Buffer.from(sealed, 'base64url');
  if (key === 'unusable' || bytes[0] !== version) return sealed;
  const text = decryptBytes(derive(key, 'reeltally personal data'), bytes.subarray(1), contextOf(place));
  return text ? JSON.parse(text.toString('utf8')) : sealed;
}

/** The sealed form of an event's personal data; undefined for an event without any, or from before there were keys. */
function sealedIn({ data }: RecordedEvent): string | undefined {
  const { personal } = Object(data) as { personal?: unknown };
  return typeof personal === 'string' ? personal : undefined;
}

/**
 * A log whose readers see personal data as it was written, or null once its key was erased. `stored` of such an event has the form
 * in the log, which hashes cover. What its key does not open stays sealed: parsing that event refuses it (`UnreadableEvent`), and
 * stops nobody who does not read it.
 *
 * @throws {EventStoreUnavailable} from each read while it is not known whether a key is there
 */
export function withPersonalData<Store extends EventStore & Partial<WholeLog>>(
  store: Store,
  keys: PersonalKeys,
): Store {
  const opened = async <Event extends RecordedEvent>(events: readonly Event[]): Promise<Event[]> => {
    const sealed = events.filter((event) => sealedIn(event) !== undefined);
    if (sealed.length === 0) return [...events];
    const found = await keys.read(sealed.map(keyNameOf));
    const keyOf = new Map(sealed.map((event, index) => [event, found[index]]));
    return events.map((event) => {
      const text = sealedIn(event);
      if (text === undefined) return event;
      const key = keyOf.get(event);
      const personal = key ? open(key, text, event) : null;
      return { ...event, data: { ...(event.data as object), personal }, stored: event.data };
    });
  };

  /** A key that is made anew while the log has events under the one before would leave these unreadable for ever. */
  const makeFirstKey = async (stream: string, name: PersonalKeyName): Promise<PersonalKey> => {
    const earlier = await store.read(stream, 0);
    if (earlier.some((event) => sealedIn(event) !== undefined && keyNameOf(event).kind === name.kind))
      throw new PersonalKeyLost(stream, name, 'is missing from Postgres');
    return keys.make(name);
  };

  const obtainKey = async (stream: string, name: PersonalKeyName): Promise<Buffer> => {
    const [found] = await keys.read([name]);
    const key = found ?? (await makeFirstKey(stream, name));
    if (key === 'unusable')
      throw new PersonalKeyLost(stream, name, 'in Postgres was not wrapped with a secret of this installation');
    return key;
  };

  const sealPersonalData: SealPersonalData = async (stream, events) => {
    const sealed: (string | undefined)[] = [];
    for (const { id, type, data } of events) {
      const { personal } = data as { personal?: unknown };
      const place = { stream, type, id };
      sealed.push(personal ? seal(await obtainKey(stream, keyNameOf(place)), personal, place) : undefined);
    }
    return sealed;
  };

  const { readAll } = store;
  return {
    ...store,
    sealPersonalData,
    read: async (...asked) => opened(await store.read(...asked)),
    ...(readAll && { readAll: async (...asked: Parameters<typeof readAll>) => opened(await readAll(...asked)) }),
    readTail: async (...asked) => {
      const tail = await store.readTail(...asked);
      return tail && opened(tail);
    },
    subscribe: (options) =>
      store.subscribe({
        ...options,
        apply: async (batch) => options.apply({ ...batch, events: await opened(batch.events) }),
      }),
  };
}
