import { hash } from 'node:crypto';
import { isTreeLeaf } from '../../src/domain/tree-head-events.ts';
import type { EventStore, RecordedEvent, WholeLog } from '../../src/ports/event-store.ts';
import { signCheckpoint } from '../../src/proof/checkpoint.ts';
import { rootOf } from '../../src/proof/merkle-tree.ts';
import { proveDocument, type SignedLog } from '../../src/proof/proof-file.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { firstOpenedAt } from '../audit/audited-history.ts';
import { Random } from '../audit/random.ts';
import { RichHistory } from '../audit/rich-history.ts';
import { canonicalJson } from '../commands/unbroken-chain.ts';
import { TreeInMemory } from './tree-in-memory.ts';

export const signer = signerOf('reeltally.example/log', Buffer.alloc(32, 7));
export const publicKey = publicKeyText(signer.publicKey);

export type StoredEvent = Omit<RecordedEvent, 'position' | 'created' | 'data' | 'metadata'> & {
  data: Record<string, unknown>;
  metadata: Record<string, unknown> & { hash: string };
};

/** An event log in memory, which somebody may rewrite: chains and the signed head are right again afterwards. */
export class ProvenLog implements WholeLog, Pick<EventStore, 'append'> {
  events: StoredEvent[] = [];
  signed: SignedLog | undefined;

  append: EventStore['append'] = async (stream, expected, events) => {
    const first = expected === 'no_stream' ? 0 : expected + 1;
    for (const [index, event] of events.entries())
      this.events.push(structuredClone({ ...event, stream, revision: first + index }) as unknown as StoredEvent);
    return 'stored';
  };

  ofStream = (stream: string): StoredEvent[] => this.events.filter((event) => event.stream === stream);

  read: EventStore['read'] = async (stream, from, most = Infinity) =>
    this.ofStream(stream)
      .slice(from, from + most)
      .map((event) => ({ ...event, position: 0n, created: new Date(0) }));

  readAll: WholeLog['readAll'] = async (after, most) => {
    const from = Number(after) + 1;
    const page = this.events.slice(from, from + most);
    return page.map((event, index) => ({ ...event, position: BigInt(from + index), created: new Date(0) }));
  };

  headPosition = async (): Promise<bigint> => BigInt(this.events.length - 1);

  copy(): ProvenLog {
    const log = new ProvenLog();
    log.events = structuredClone(this.events);
    log.signed = this.signed;
    return log;
  }

  /** Numbers the events of a stream anew, and makes its hashes right; what names one of them by its hash names it again. */
  rechain(stream: string): void {
    let previous = hash('sha256', stream);
    const renamed = new Map<string, string>();
    for (const [revision, event] of this.ofStream(stream).entries()) {
      event.revision = revision;
      const { hash: old, ...metadata } = event.metadata;
      const { id, type, data } = event;
      const link = canonicalJson({ stream, revision, id, type, data, metadata });
      previous = hash('sha256', Buffer.concat([Buffer.from(previous, 'hex'), Buffer.from(link)]));
      renamed.set(old, previous);
      event.metadata.hash = previous;
    }
    const invoices = this.events.filter(({ type }) => type === 'InvoiceIssued');
    for (const { data } of invoices)
      for (const { event } of data['lines'] as { event?: { hash: string } }[])
        if (event) event.hash = renamed.get(event.hash) ?? event.hash;
  }

  /** Signs the head of the log as it is now, in place of an earlier one. */
  async sign(): Promise<void> {
    this.signed = await signedLogOf(this.events);
  }
}

/** The signed tree over the closings and documents among these events. */
async function signedLogOf(events: readonly StoredEvent[]): Promise<SignedLog> {
  const leaves = events.filter(isTreeLeaf);
  const { size, read: readNodes } = new TreeInMemory(leaves.map(({ metadata }) => Buffer.from(metadata.hash, 'hex')));
  const checkpoint = signCheckpoint({ size, root: await rootOf(size, readNodes) }, signer);
  const indexes = new Map(leaves.map(({ id }, index) => [id, index]));
  return { checkpoint, size, indexOf: async (eventId) => indexes.get(eventId), readNodes };
}

/** A signed history of an account with everything there is: three periods that are closed, the second of which begins suspended. */
export async function provenHistory(seed: number): Promise<ProvenLog> {
  const log = new ProvenLog();
  await new RichHistory(log, new Random(seed), firstOpenedAt).live(4, 40);
  await log.sign();
  return log;
}

const documentTypes: Readonly<Record<string, 'invoice' | 'credit_note'>> = {
  InvoiceIssued: 'invoice',
  CreditNoteIssued: 'credit_note',
};

export const documentsOf = ({ events }: ProvenLog): StoredEvent[] => events.filter(({ type }) => type in documentTypes);

/** What the proof of a document says its number is. */
export const wantedOf = ({ type, stream, data }: StoredEvent) => ({
  type: documentTypes[type]!,
  accountId: stream.slice('invoices-'.length),
  number: data['number'] as number,
});

/** The text of its proof file. */
export const proveText = async (log: ProvenLog, document: StoredEvent): Promise<string> =>
  (await proveDocument(log, log.signed, wantedOf(document))).text;
