import type { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Html } from '../documents/html.ts';
import type { ConsoleSession } from '../ports/console-sessions.ts';
import type { StaffSession } from '../ports/staff-sessions.ts';
import type { LongVisit } from './live/long-visits.ts';

/** A request to the console, and what a page or an action makes of it. */
export interface Visit {
  request: FastifyRequest;
  /** The parts of the path that its route names. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** The fields of a form; empty for a GET. */
  form: URLSearchParams;
  cookies: ReadonlyMap<string, string>;
  /** Its form was refused: the page on which the form stands is shown again. */
  refused?: RefusedForm | undefined;
}

interface RefusedForm {
  /** The path that it was sent to. */
  action: string;
  /** Why, and what is expected. */
  message: string;
}

/** Tells whether a value holds the character that no text of Postgres has. */
export function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  return typeof value === 'object' && value !== null && Object.entries(value).some((member) => member.some(hasNul));
}

/** A visit by a person who is signed in. */
export interface SignedInVisit<Session> extends Visit {
  session: Session;
  /** For an answer that goes on: it ends with the session. */
  stay: () => LongVisit;
}

export type OwnerVisit = SignedInVisit<ConsoleSession>;
export type StaffVisit = SignedInVisit<StaffSession>;

export type Answer =
  | { kind: 'page'; page: Page; status?: number | undefined; cookies?: readonly string[] }
  /** See Other: a form is never sent twice by going back. */
  | { kind: 'redirect'; to: string; cookies?: readonly string[] }
  /**
   * A file to save. If its source fails, or its reader stops for as long as it says, the connection is cut: a file that breaks off
   * never looks complete.
   */
  | { kind: 'file'; body: string | Buffer | Readable; mediaType: string; fileName: string; stalledMs?: number }
  /** Another document than one of the console's pages, such as an invoice to print. */
  | { kind: 'document'; html: string }
  /** The handler answers by itself: a live stream. */
  | { kind: 'handled' };

export interface Page {
  title: string;
  content: Html;
  /** The part of the console that it belongs to; undefined for pages outside of all. */
  section?: Section;
  /** Scripts that make parts of it move, by their names in `browser/`. */
  islands?: readonly string[];
  /** Of the answer to a form: the address at which it is shown again, for somebody who comes back to it. */
  address?: string;
  /** Keys that it has beside those of every page, and what they do. */
  keys?: readonly (readonly [key: string, what: string])[];
}

type OwnerSection = 'overview' | 'downloads' | 'try' | 'keys' | 'invoices' | 'settings';
type StaffSection = 'search' | 'corrections' | 'overage' | 'months' | 'operation' | 'people';
export type Section = OwnerSection | StaffSection;

export const page = (shown: Page, status?: number): Answer => ({ kind: 'page', page: shown, status });

export const redirect = (to: string, ...cookies: string[]): Answer => ({ kind: 'redirect', to, cookies });

/** Tells a visitor why a page cannot be shown, or an action is not carried out. */
export class PageRefusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 400 | 401 | 403 | 404 | 409 | 429 | 503;
  readonly title: string;
  /** Of a form that counts for nothing: the page that has it, on which it is there again as it was typed. */
  readonly formPage: string | undefined;

  /** @param message what happened, and what to do, in sentences for the visitor */
  constructor(status: PageRefusal['status'], title: string, message: string, formPage?: string) {
    super(message);
    this.status = status;
    this.title = title;
    this.formPage = formPage;
  }
}

/** The same for what does not exist and for what is another account's. */
export const missing = (): PageRefusal =>
  new PageRefusal(
    404,
    'Not found',
    'There is nothing at this address. It may be misspelt, or belong to another account.',
  );

export const away = (): PageRefusal =>
  new PageRefusal(
    503,
    'Not available at the moment',
    'A part of the service does not answer. Nothing was changed. Try again in a minute.',
  );

export const outcomeUnknown = (): PageRefusal =>
  new PageRefusal(
    503,
    'The outcome is not known',
    'The service could not find out in time whether this is stored. Look again in a minute before you repeat it.',
  );

export const badInput = (message: string): PageRefusal => new PageRefusal(400, 'Not accepted', message);
