import { z } from 'zod';
import type { EventOf } from './event-of.ts';

/** Stream `tree-heads`: the signed heads of the log of what was closed and invoiced. */
export const treeHeadsStream = 'tree-heads';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Name of a signed log, which is the name of its key too: without spaces and plus signs. */
export const treeOrigin = z
  .string()
  .regex(/^[^\s+]+$/)
  .max(200);

export const treeHeadEventSchemas = {
  TreeHeadSigned: z.strictObject({
    origin: treeOrigin,
    /** Number of the leaves. */
    size: z.int().min(1),
    root: sha256,
    /** The checkpoint, with its signature. */
    note: z.string().min(1),
    /** The public key that verifies it. */
    key: z.string().min(1),
    /** The complete subtrees that the tree is made of, the largest first: the next head goes on from them. */
    frontier: z.array(sha256).min(1),
  }),
  /** The log was restored from a backup that contradicts signed heads. The metadata says who goes on under another name, and why. */
  TreeOriginBegun: z.strictObject({ origin: treeOrigin }),
};

export type TreeHeadEvent = EventOf<typeof treeHeadEventSchemas>;

export type TreeHeadSigned = Extract<TreeHeadEvent, { type: 'TreeHeadSigned' }>['data'];

/** The events whose hashes are the leaves of the tree. */
const leafTypes: ReadonlySet<string> = new Set(['UsagePeriodClosed', 'InvoiceIssued', 'CreditNoteIssued']);

export const isTreeLeaf = ({ type }: { type: string }): boolean => leafTypes.has(type);
