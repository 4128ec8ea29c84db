import { z } from 'zod';
import { type AccessRecord, recordAccess } from '../../commands/staff.ts';
import type { Html } from '../../documents/html.ts';
import type { Handler } from '../site.ts';
import { badInput, type Page, page, PageRefusal, type StaffVisit } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import { exportAnswer, type Exported, type ExportForm } from './export.ts';

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
  /** The names of its endpoint there. */
  operationId: string;
  summary: string;
  shown: z.ZodType<Shown>;
}

export type { AccessRecord };

/** Rows of an answer. @param says what they are, for the document */
export const listOf = <Shape extends z.ZodRawShape>(says: string, shape: Shape) =>
  z.array(z.strictObject(shape)).describe(says);

/** The fields of a row that a schema has, in the order of the schema. */
export const pick = <Name extends string, Row extends Record<Name, unknown>>(
  row: Row,
  shape: Readonly<Record<Name, unknown>>,
): Pick<Row, Name> =>
  Object.fromEntries((Object.keys(shape) as Name[]).map((name) => [name, row[name]])) as Pick<Row, Name>;

/** A page of a table. */
export interface Rows<Row> {
  rows: Row[];
  /** Where the next page goes on; null on the last one. */
  next: string | null;
}

/** A page of rows, of which one more was read than it has. @param placeOf where the next page goes on, by the last row */
export const firstRows = <Row>(rows: readonly Row[], limit: number, placeOf: (last: Row) => string): Rows<Row> => {
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  return { rows: shown, next: last === undefined ? null : placeOf(last) };
};

/** Rows as they are read, page by page, each as it is shown. */
export async function* eachShown<Row, Shown>(
  pages: AsyncGenerator<readonly Row[]>,
  shownOf: (row: Row) => Shown,
): AsyncGenerator<Shown[]> {
  for await (const page of pages) yield page.map(shownOf);
}

/** Whoever looks: a person, or a program with that person's token. */
export interface Viewer {
  staffId: string;
  /** The program's token. */
  tokenId?: string;
  /** Id of the request. */
  correlationId: string;
}

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
  const accessRecords = view.accessRecords?.(shown) ?? [];
  if (accessRecords.length === 0) return shown;
  // Its errors are those of an append that was not made; the page for them says that a part is away.
  const refused = await recordAccess(dependencies, { ...viewer, accessRecords, timeoutMs: recordMs });
  if (refused) throw new PageRefusal(403, 'Not for you any more', 'You are not a member of staff any more.');
  return shown;
}

/** What the person of a visit sees of a view. @param given default: the parts and the query of the visit's address */
export const seeAs = <Input, Shown>(
  visit: StaffVisit,
  view: View<Input, Shown>,
  dependencies: StaffDependencies,
  given: unknown = inputOf(visit),
): Promise<Shown> =>
  see(view, { staffId: visit.session.staffId, correlationId: visit.request.id }, dependencies, given);

export type StaffHandler = Handler<StaffVisit, StaffDependencies>;

interface ViewPage<Input, Shown> extends Pick<Page, 'section' | 'islands'> {
  title: string | ((shown: Shown) => string);
  keys?: (shown: Shown) => NonNullable<Page['keys']>;
  content: (shown: Shown, visit: StaffVisit, dependencies: StaffDependencies, input: Input) => Html;
}

/** A page that shows a view. */
export const viewPage =
  <Input, Shown>(view: View<Input, Shown>, { title, keys, content, ...fixed }: ViewPage<Input, Shown>): StaffHandler =>
  async (visit, dependencies) => {
    const input = readInput(view.input, inputOf(visit));
    const shown = await seeAs(visit, view, dependencies);
    return page({
      ...fixed,
      title: typeof title === 'string' ? title : title(shown),
      keys: keys?.(shown) ?? [],
      content: content(shown, visit, dependencies, input),
    });
  };

/** The two files of a view of all rows that another one shows page by page. */
export function exportHandlers<Input, Row extends object, Shown extends Exported<Row>>(
  view: View<Input, Shown>,
): Readonly<Record<ExportForm, StaffHandler>> {
  const as =
    (form: ExportForm): StaffHandler =>
    async (visit, dependencies, reply) =>
      exportAnswer(form, dependencies, { reply, ...visit }, await seeAs(visit, view, dependencies));
  return { csv: as('csv'), json: as('json') };
}

/** @throws {PageRefusal} naming the field at fault */
function readInput<Input>(schema: z.ZodType<Input>, given: unknown): Input {
  const input = schema.safeParse(given);
  if (input.success) return input.data;
  const [first] = input.error.issues;
  const name = first?.path.join('.') ?? '';
  throw badInput(`${name === '' ? 'The input' : name}: ${first?.message ?? 'cannot be read'}`);
}

/** The parts of a visit's address that its route names, and its query; a form sends fields that were left empty. */
const inputOf = ({ params, query }: StaffVisit): object => ({
  ...Object.fromEntries([...query].filter(([, value]) => value !== '')),
  ...params,
});
