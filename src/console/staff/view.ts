import type { z } from 'zod';
import { type AccessRecord, recordAccess } from '../../commands/staff.ts';
import { badInput, PageRefusal, type StaffVisit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';

/**
 * What a page shows, and what the endpoint beside it, if there is one, sends: one query for both.
 *
 * `read` may throw what pages throw (`missing`, `badInput`), and appends nothing. Every view is read by `see`, which writes the
 * access records of personal data before anybody sees them.
 */
export interface View<Input, Shown> {
  /** Of the parts and the query of an address, which are texts, or of a JSON body. */
  input: z.ZodType<Input>;
  read: (dependencies: StaffDependencies, input: Input) => Promise<Shown>;
  /** Whose personal data it shows; default: nobody's. */
  accessRecords?: (shown: Shown) => readonly AccessRecord[];
}

/** A view that programs read too: its schema stands in the OpenAPI document. */
export interface JsonView<Input, Shown> extends View<Input, Shown> {
  shown: z.ZodType<Shown>;
}

export type { AccessRecord };

/** Whoever looks: a person, or a program with that person's token. */
export interface Viewer {
  staffId: string;
  /** The program's token. */
  tokenId?: string;
  requestId: string;
}

export const viewerOf = ({ session, request }: StaffVisit): Viewer => ({
  staffId: session.staffId,
  requestId: request.id,
});

const recordMs = 5_000;

/**
 * @param given what the view's input is read from
 * @throws {PageRefusal} for an input that is none, and if the access cannot be recorded: then nothing is shown
 */
export async function see<Input, Shown>(
  view: View<Input, Shown>,
  viewer: Viewer,
  dependencies: StaffDependencies,
  given: unknown,
): Promise<Shown> {
  const shown = await view.read(dependencies, readInput(view.input, given));
  const records = view.accessRecords?.(shown) ?? [];
  if (records.length > 0) await recordOrRefuse(records, viewer, dependencies);
  return shown;
}

/** @throws {PageRefusal} naming the field at fault */
export function readInput<Input>(schema: z.ZodType<Input>, given: unknown): Input {
  const input = schema.safeParse(given);
  if (!input.success) throw badInput(describe(input.error));
  return input.data;
}

function describe({ issues }: z.ZodError): string {
  const [first] = issues;
  const name = first?.path.join('.') ?? '';
  return `${name === '' ? 'The input' : name}: ${first?.message ?? 'cannot be read'}`;
}

/** Its errors are those of an append that was not made; the page for them says that a part is away. */
async function recordOrRefuse(
  accessRecords: readonly AccessRecord[],
  { staffId, tokenId, requestId }: Viewer,
  { staff }: StaffDependencies,
): Promise<void> {
  const access = { staffId, tokenId, accessRecords, correlationId: requestId, timeoutMs: recordMs };
  const refused = await recordAccess(staff, access);
  if (refused) throw new PageRefusal(403, 'Not for you any more', 'You are not a member of staff any more.');
}

/** The parts of a visit's address that its route names, and its query; a form sends fields that were left empty. */
export const inputOf = ({ params, query }: StaffVisit): object => ({
  ...Object.fromEntries([...query].filter(([, value]) => value !== '')),
  ...params,
});
