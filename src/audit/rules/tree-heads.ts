import { createPublicKey, hash, verify } from 'node:crypto';
import type { RecordedEvent } from './audited-log.ts';
import { Chain } from './chain.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { HashTree } from './hash-tree.ts';
import { parseStreamName, treeHeadsStream } from './streams.ts';

const leafTypes = ['UsagePeriodClosed', 'InvoiceIssued', 'CreditNoteIssued'];

/** True for an event whose hash is a leaf of the tree of what was closed and invoiced. */
export function isTreeLeaf({ type, stream }: Pick<RecordedEvent, 'type' | 'stream'>): boolean {
  if (!leafTypes.includes(type)) return false;
  const kind = parseStreamName(stream)?.kind;
  return kind === 'usage' || kind === 'invoices';
}

/** The hash of an event, as it is stored; one that is none counts as an empty entry. */
export function entryOf({ metadata }: RecordedEvent): string {
  const { hash: stored } = Object(metadata) as { hash?: unknown };
  return typeof stored === 'string' ? stored : '';
}

/** The signed heads of the tree. Each says its size and root, by the log itself. */
export class TreeHeads extends Chain<null> {
  /** The tree up to the newest head. */
  readonly #tree = new HashTree();
  /** The leaves behind it. */
  #pending: string[] = [];
  #origin: string | undefined;
  #size = 0;

  constructor(report: Report) {
    super(treeHeadsStream, null, report);
  }

  followLeaf(event: RecordedEvent): void {
    this.#pending.push(entryOf(event));
  }

  check(event: Link): void {
    const { type, data, metadata } = event;
    if (type === 'TreeOriginBegun') {
      this.must('tree_origin', metadata.actor.type === 'staff', event, 'metadata.actor.type', 'staff');
      this.must('tree_origin', data.origin !== this.#origin, event, 'data.origin', 'another than before');
      this.#origin = data.origin;
      return;
    }
    this.mustEqual('tree_origin', event, { type: 'system' }, 'metadata.actor.');
    if (this.#origin !== undefined) this.mustEqual('tree_origin', event, { origin: this.#origin });
    this.#origin = data.origin;
    const most = this.#tree.size + this.#pending.length;
    const isNext = data.size > this.#size && data.size <= most;
    const expected = `from ${String(this.#size + 1)} to ${String(most)}`;
    this.must('tree_head_size', isNext, event, 'data.size', expected);
    if (isNext) {
      this.#size = data.size;
      for (const entry of this.#pending.splice(0, data.size - this.#tree.size)) this.#tree.add(entry);
      this.mustEqual('tree_head_root', event, { root: this.#tree.root, frontier: this.#tree.frontier });
    }
    const isSigned = isSignedBy(data.key, data);
    this.must('tree_head_note', isSigned, event, 'data.note', 'the origin, size and root, signed by the key');
  }
}

/** DER of a public key of Ed25519 before its 32 bytes (RFC 8410). */
const derPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Verifies a C2SP checkpoint. @param key as `name+id+base64` */
function isSignedBy(key: string, head: { origin: string; size: number; root: string; note: string }): boolean {
  const base64 = Buffer.from(head.root, 'hex').toString('base64');
  const text = `${head.origin}\n${String(head.size)}\n${base64}\n`;
  const [name = '', id = '', ...rest] = key.split('+');
  const bytes = Buffer.from(rest.join('+'), 'base64');
  const named = Buffer.concat([Buffer.from(`${name}\n`), bytes]);
  const start = `${text}\n— ${head.origin} `;
  if (name !== head.origin || bytes.length !== 33 || bytes[0] !== 1) return false;
  if (hash('sha256', named).slice(0, 8) !== id || !head.note.startsWith(start)) return false;
  const signature = Buffer.from(head.note.slice(start.length).trimEnd(), 'base64');
  if (signature.length !== 68 || signature.subarray(0, 4).toString('hex') !== id) return false;
  const der = Buffer.concat([derPrefix, bytes.subarray(1)]);
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), publicKey, signature.subarray(4));
}
