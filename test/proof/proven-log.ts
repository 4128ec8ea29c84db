import { hash } from 'node:crypto';
import type { EventStore, RecordedEvent, WholeLog } from '../../src/ports/event-store.ts';
import { signCheckpoint } from '../../src/proof/checkpoint.ts';
import { nodesOfNextLeaf, type ReadNode, rootOf } from '../../src/proof/merkle-tree.ts';
import { publicKeyText, signerOf } from '../../src/proof/signed-note.ts';
import { canonicalJson } from '../commands/unbroken-chain.ts';

export const signer = signerOf('reeltally.example/log', Buffer.alloc(32, 7));
export const publicKey = publicKeyText(signer.publicKey);

export type StoredEvent = Omit<RecordedEvent, 'position' | 'created' | 'data' | 'metadata'> & {
  data: Record<string, unknown>;
  metadata: Record<string, unknown> & { hash: string };
};

/** An event log in memory, which somebody may rewrite: chains and the signed head are right again afterwards. */
export class ProvenLog implements WholeLog, Pick<EventStore, 'append'> {
  events: StoredEvent[] = [];

  append: EventStore['append'] = async (stream, expected, events) => {
    const first = expected === 'no_stream' ? 0 : expected + 1;
    for (const [index, event] of events.entries())
      this.events.push(structuredClone({ ...event, stream, revision: first + index }) as unknown as StoredEvent);
    return 'stored';
  };

  ofStream = (stream: string): StoredEvent[] => this.events.filter((event) => event.stream === stream);

  #recorded = (event: StoredEvent): RecordedEvent => ({
    ...event,
    position: BigInt(this.events.indexOf(event)),
    created: new Date(0),
  });

  read: EventStore['read'] = async (stream, from, most = Infinity) =>
    this.ofStream(stream)
      .slice(from, from + most)
      .map(this.#recorded);

  readAll: WholeLog['readAll'] = async (after, most) =>
    this.events.slice(Number(after) + 1, Number(after) + 1 + most).map(this.#recorded);

  headPosition = async (): Promise<bigint> => BigInt(this.events.length - 1);

  copy(): ProvenLog {
    const log = new ProvenLog();
    log.events = structuredClone(this.events);
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

  /** Signs the head of the log as it is now. */
  async sign(): Promise<void> {
    const nodes = new Map<string, Buffer>();
    const read: ReadNode = async (level, index) => nodes.get(`${String(level)} ${String(index)}`)!;
    let size = 0;
    for (const { type, metadata } of this.events) {
      if (!['UsagePeriodClosed', 'InvoiceIssued', 'CreditNoteIssued'].includes(type)) continue;
      for (const node of await nodesOfNextLeaf(size, Buffer.from(metadata.hash, 'hex'), read))
        nodes.set(`${String(node.level)} ${String(node.index)}`, node.hash);
      size += 1;
    }
    const note = signCheckpoint({ size, root: await rootOf(size, read) }, signer);
    this.events = this.events.filter(({ stream }) => stream !== 'tree-heads');
    const head = { stream: 'tree-heads', revision: 0, id: 'head', type: 'TreeHeadSigned', data: { size, note } };
    this.events.push({ ...head, metadata: { hash: '' } });
  }
}
