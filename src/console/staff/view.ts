import { z } from 'zod';
import { type AccessRecord, recordAccess } from '../../commands/staff.ts';
import { type Html, html } from '../../documents/html.ts';
import { exportAnswer, type Exported, type ExportForm } from '../export.ts';
import { isServiceAway } from '../failures.ts';
import { filterNote } from '../form-fields.ts';
import type { Handler } from '../site.ts';
import { badInput, type Page, page, PageRefusal, type StaffVisit } from '../visit.ts';
import { type NamedRow, nameRows } from './customers.ts';
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
  /** The rows that get the names of their accounts. Without access records of its own, one record says that names were seen. */
  named?: (shown: Shown) => readonly NamedRow[];
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
/** A list is shown without names rather than late. */
const recordOfNamesMs = 1_000;
const ofNames: AccessRecord = { accountId: null, token: null, page: 'names' };

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
  const named = (view.named?.(shown) ?? []).filter(({ account_id: accountId }) => accountId !== null);
  // Its errors are those of an append that was not made; the page for them says that a part is away.
  if (accessRecords.length > 0) await record(dependencies, viewer, accessRecords);
  else if (named.length > 0 && !(await areNamesRecorded(dependencies, viewer))) return shown;
  if (named.length > 0) await nameRows(dependencies, named);
  return shown;
}

async function record(
  dependencies: StaffDependencies,
  viewer: Viewer,
  accessRecords: readonly AccessRecord[],
  timeoutMs = recordMs,
): Promise<void> {
  const refused = await recordAccess(dependencies, { ...viewer, accessRecords, timeoutMs });
  if (refused) throw new PageRefusal(403, 'Not for you any more', 'You are not a member of staff any more.');
}

/** @returns false while the log is away: then a list has ids alone */
async function areNamesRecorded(dependencies: StaffDependencies, viewer: Viewer): Promise<boolean> {
  try {
    await record(dependencies, viewer, [ofNames], recordOfNamesMs);
    return true;
  } catch (error) {
    if (isServiceAway(error)) return false;
    throw error;
  }
}

/** What the person of a visit sees of a view. @param given default: the parts and the query of the visit's address */
export const seeAs = <Input, Shown>(
  visit: StaffVisit,
  view: View<Input, Shown>,
  dependencies: StaffDependencies,
  given: unknown = inputOf(visit),
): Promise<Shown> => see(view, viewerOf(visit), dependencies, given);

const viewerOf = ({ session, request }: StaffVisit): Viewer => ({
  staffId: session.staffId,
  correlationId: request.id,
});

export type StaffHandler = Handler<StaffVisit, StaffDependencies>;

interface ViewPage<Input, Shown> extends Pick<Page, 'section' | 'islands'> {
  title: string | ((shown: Shown) => string);
  keys?: (shown: Shown) => NonNullable<Page['keys']>;
  content: (shown: Shown, visit: StaffVisit, dependencies: StaffDependencies, input: Input) => Html;
  /** The form of its filters with what was typed, for an address that is refused (`filtered` in `site.ts`). */
  filters?: (visit: StaffVisit, dependencies: StaffDependencies) => Html | Promise<Html>;
}

/** A page that shows a view. */
export const viewPage =
  <Input, Shown>(
    view: View<Input, Shown>,
    { title, keys, content, filters, ...fixed }: ViewPage<Input, Shown>,
  ): StaffHandler =>
  async (visit, dependencies) => {
    if (visit.refused && filters && visit.request.method === 'GET') {
      if (isPathRefused(view, visit)) throw badInput(visit.refused.message);
      const form = await filters(visit, dependencies);
      return page({
        ...fixed,
        title: typeof title === 'string' ? title : 'Not accepted',
        content: html`${filterNote(visit)} ${form}`,
      });
    }
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
    async (visit, dependencies, reply) => {
      const shown = await seeAs(visit, view, dependencies);
      const exported = shown.hasNames ? await withNames(visit, dependencies, shown) : shown;
      return exportAnswer(form, dependencies, { reply, ...visit }, exported);
    };
  return { csv: as('csv'), json: as('json') };
}

/** A file without the names that it should have would look complete: while the log is away there is none. */
async function withNames<Row extends object>(
  visit: StaffVisit,
  dependencies: StaffDependencies,
  exported: Exported<Row>,
): Promise<Exported<Row>> {
  await record(dependencies, viewerOf(visit), [ofNames]);
  return {
    ...exported,
    rows: async function* (gone) {
      for await (const page of exported.rows(gone)) {
        await nameRows({ ...dependencies, pool: dependencies.exportPool }, page as readonly (Row & NamedRow)[]);
        yield page;
      }
    },
  };
}

/** @throws {PageRefusal} naming the field at fault */
function readInput<Input>(schema: z.ZodType<Input>, given: unknown): Input {
  const input = schema.safeParse(given, { error: inWords });
  if (input.success) return input.data;
  const [first] = input.error.issues;
  const name = first?.path.join('.') ?? '';
  throw badInput(`${name === '' ? 'The input' : name}: ${first?.message ?? 'cannot be read'}`);
}

/** What is expected, where a schema does not say it itself. @returns undefined: in the words of the library */
const inWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_value') return `is none of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'invalid_format') return 'is not written as it has to be';
  if (issue.code === 'too_big') return `has more than ${String(issue.maximum)} characters`;
  return undefined;
};

/** Whether a part of the path cannot be read: then there is no form of filters that would mend it. */
const isPathRefused = <Input, Shown>({ input }: View<Input, Shown>, visit: StaffVisit): boolean =>
  input.safeParse(inputOf(visit)).error?.issues.some(({ path: [name] }) => String(name) in visit.params) ?? false;

/** The parts of a visit's address that its route names, and its query; a form sends fields that were left empty. */
const inputOf = ({ params, query }: StaffVisit): object => ({
  ...Object.fromEntries([...query].filter(([, value]) => value !== '')),
  ...params,
});
