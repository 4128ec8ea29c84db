import { z } from 'zod';
import { type AccountEvent, accountEventSchemas, personId } from './account-events.ts';
import { type AuditEvent, auditEventSchemas } from './audit-events.ts';
import { type CorrectionEvent, correctionEventSchemas } from './correction-events.ts';
import { type JobEvent, jobEventSchemas } from './download-job-events.ts';
import { instant } from './instant.ts';
import { type InvoiceEvent, invoiceEventSchemas } from './invoice-events.ts';
import { type IssuerEvent, issuerEventSchemas } from './issuer-events.ts';
import { type StaffEvent, staffEventSchemas } from './staff-events.ts';
import { type TreeHeadEvent, treeHeadEventSchemas } from './tree-head-events.ts';
import { type UsageEvent, usageEventSchemas } from './usage-events.ts';

/**
 * Stored events are contracts. Each is parsed on the way in, and an event that does not match its schema stops its reader:
 * skipping an event would lose money silently.
 */
export type DomainEvent =
  | AccountEvent
  | UsageEvent
  | JobEvent
  | InvoiceEvent
  | IssuerEvent
  | StaffEvent
  | CorrectionEvent
  | AuditEvent
  | TreeHeadEvent;

/** The party that caused an event. */
const actor = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('api_key'), id: z.string().min(1) }),
  /** A person of the account, in the console. */
  z.strictObject({ type: z.literal('owner'), id: personId }),
  z.strictObject({
    type: z.literal('staff'),
    id: z.string().min(1),
    role: z.string().min(1),
    reason: z.string().min(1),
  }),
  z.strictObject({ type: z.literal('system'), id: z.string().min(1) }),
]);
export type Actor = z.infer<typeof actor>;

/** The metadata of every event. */
export const eventMetadata = z.strictObject({
  /** The request or command at the beginning of this chain of events. */
  $correlationId: z.string().min(1),
  /** The event or command that directly caused this event. */
  $causationId: z.string().min(1),
  /** The span of its append, if the request was traced: W3C Trace Context, version 00. */
  $traceparent: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional(),
  /** Version of the event's schema. */
  schema: z.int().min(1),
  actor,
  /** The event's own time, never before that of the stream's previous event. */
  time: instant,
  /** SHA-256 over the previous event's hash and this event, hexadecimal (`commands/handler/hash-chain.ts`). */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
});
export type EventMetadata = z.infer<typeof eventMetadata>;

export interface ParsedEvent<Event extends DomainEvent = DomainEvent> {
  stream: string;
  revision: number;
  id: string;
  position: bigint;
  event: Event;
  metadata: EventMetadata;
}

interface Recorded {
  stream: string;
  revision: number;
  id: string;
  position: bigint;
  type: string;
  data: unknown;
  metadata: unknown;
}

/** @throws {UnreadableEvent} for an event that this version does not know */
export const parseAccountEvent = parserOf<AccountEvent>(accountEventSchemas);
export const parseUsageEvent = parserOf<UsageEvent>(usageEventSchemas);
export const parseJobEvent = parserOf<JobEvent>(jobEventSchemas);
export const parseInvoiceEvent = parserOf<InvoiceEvent>(invoiceEventSchemas);
export const parseIssuerEvent = parserOf<IssuerEvent>(issuerEventSchemas);
export const parseStaffEvent = parserOf<StaffEvent>(staffEventSchemas);
export const parseCorrectionEvent = parserOf<CorrectionEvent>(correctionEventSchemas);
export const parseAuditEvent = parserOf<AuditEvent>(auditEventSchemas);
export const parseTreeHeadEvent = parserOf<TreeHeadEvent>(treeHeadEventSchemas);

const everySchema: Readonly<Record<string, z.ZodType>> = {
  ...accountEventSchemas,
  ...usageEventSchemas,
  ...jobEventSchemas,
  ...invoiceEventSchemas,
  ...issuerEventSchemas,
  ...staffEventSchemas,
  ...correctionEventSchemas,
  ...auditEventSchemas,
  ...treeHeadEventSchemas,
};

/** The types of all events. */
export const eventTypes: readonly string[] = Object.keys(everySchema);

/** Keeps unreadable events out of the log. @throws {z.ZodError} for data that its own schema refuses */
export function requireReadable({ type, data }: DomainEvent): void {
  everySchema[type]?.parse(data);
}

/** A stream of this service holds an event that this version does not know, by its type or its form. */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
  readonly stream: string;
  readonly revision: number;

  constructor({ stream, revision, type }: Pick<Recorded, 'stream' | 'revision' | 'type'>, why: string) {
    super(`event ${String(revision)} of ${stream} (${type}) cannot be read: ${why}`);
    this.stream = stream;
    this.revision = revision;
  }
}

function parserOf<Event extends DomainEvent>(schemas: Readonly<Record<Event['type'], z.ZodType>>) {
  const parse = (recorded: Recorded): ParsedEvent<Event> => {
    const { stream, revision, id, position, type, data, metadata } = recorded;
    const schema = Object.hasOwn(schemas, type) ? schemas[type as Event['type']] : undefined;
    if (!schema) throw new UnreadableEvent(recorded, `no event of this kind of stream is called ${type}`);
    try {
      const event = { type, data: schema.parse(data) } as unknown as Event;
      return { stream, revision, id, position, event, metadata: eventMetadata.parse(metadata) };
    } catch (error) {
      throw new UnreadableEvent(recorded, error instanceof z.ZodError ? z.prettifyError(error) : String(error));
    }
  };
  // Several read models take the same event.
  const known = new WeakMap<Recorded, ParsedEvent<Event>>();
  return (recorded: Recorded): ParsedEvent<Event> => {
    const before = known.get(recorded);
    if (before) return before;
    const parsed = parse(recorded);
    known.set(recorded, parsed);
    return parsed;
  };
}
