import type { FastifyReply } from 'fastify';
import type { Pool } from 'pg';
import type { Html } from '../documents/html.ts';
import type { PlanNames } from '../domain/plans.ts';
import type { StaffRole } from '../domain/staff-events.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import type { RunningExports } from './export.ts';
import type { LiveDependencies } from './live/live-downloads.ts';
import type { Origins } from './origins.ts';
import type { PartsDependencies } from './parts-of-service.ts';
import type { AskForMail } from './sign-in/asking-browser.ts';
import type { CookieNames } from './sign-in/cookies.ts';
import type { Answer, Section, SignedInVisit, Visit } from './visit.ts';

/** A console: a table of routes below one path, with a menu and sessions of its own. There are two: of owners, and of staff. */
export interface Site<Session, Dependencies> {
  /** Path of its first page; all others are below it. */
  base: '/console' | '/staff';
  /** The setting of its address. */
  addressSetting: 'PUBLIC_URL' | 'STAFF_URL';
  routes: readonly Route<Session, Dependencies>[];
  cookieNames: (isSecure: boolean) => CookieNames;
  menu: Menu<Session>;
  /** What is away while its pages cannot be shown, as the log names it. */
  partName: string;
  /** Whom a session is of, as its pages tell it apart from another one. */
  readerOf: (session: Session) => string;
  findSession: (dependencies: Dependencies, secret: string) => Promise<Session | undefined>;
  /** Those of the sessions that have not ended, by their ids, as the read models have them now. */
  findSessions: (dependencies: Dependencies, sessions: readonly Session[]) => Promise<ReadonlyMap<string, Session>>;
  mayOpen: (access: Access, session: Session) => boolean;
  /** Asks the log whether the person of a session may open a page: it knows a removal before the read models do. */
  isConfirmed: (dependencies: Dependencies, access: Access, session: Session) => Promise<boolean>;
}

/** Those who may open a page after they have signed in: an owner, or staff of at least this role. */
type Access = 'owner' | StaffRole;

export type Handler<Of extends Visit, Dependencies> = (
  visit: Of,
  dependencies: Dependencies,
  reply: FastifyReply,
) => Promise<Answer> | Answer;

/** An action or a list, and the page on which its form stands: there, a form that is refused keeps what was typed. */
export interface Handlers<Of extends Visit, Dependencies> {
  handler: Handler<Of, Dependencies>;
  formPage?: Handler<Of, Dependencies> | undefined;
}

export type Route<Session, Dependencies> = { method: 'GET' | 'POST'; path: string } & (
  | ({ access: 'everybody' } & Handlers<Visit, Dependencies>)
  | ({ access: Access } & Handlers<SignedInVisit<Session>, Dependencies>)
);

/** Makes the rows of a console's table of routes. */
export const routesBelow = <Session, Dependencies>(base: Site<Session, Dependencies>['base']) => ({
  open: (
    method: 'GET' | 'POST',
    path: string,
    handler: Handler<Visit, Dependencies>,
    formPage?: Handler<Visit, Dependencies>,
  ): Route<Session, Dependencies> => ({ method, path: base + path, access: 'everybody', handler, formPage }),
  /** A list, or a file of one, by filters. @param formPage has the form of the filters */
  filtered: (
    path: string,
    access: Access,
    handler: Handler<SignedInVisit<Session>, Dependencies>,
    formPage = handler,
  ): Route<Session, Dependencies> => ({ method: 'GET', path: base + path, access, handler, formPage }),
  signedIn: (
    method: 'GET' | 'POST',
    path: string,
    access: Access,
    handler: Handler<SignedInVisit<Session>, Dependencies>,
    formPage?: Handler<SignedInVisit<Session>, Dependencies>,
  ): Route<Session, Dependencies> => ({ method, path: base + path, access, handler, formPage }),
});

/** What every session has, whosever it is. */
export interface SiteSession {
  sessionId: string;
  /** Each form of this session sends it, so that no other site can send one. */
  formToken: string;
}

/** Dependencies of the steps of a visit. */
export interface SiteDependencies extends PartsDependencies {
  origins: Origins;
  /** True if the service runs as a demo: each page says so. */
  isDemo: boolean;
}

/** Dependencies that both consoles have. */
export interface SharedDependencies extends SiteDependencies, AskForMail, LiveDependencies {
  pool: Pool;
  store: EventStore;
  macs: RowMacs;
  samplePlatformOrigin: string | undefined;
  /** Name of the issuer by the settings, for invoices from before the issuer's first details. */
  issuer: string;
  now: () => string;
  newUuid: () => string;
  planNames: PlanNames;
  /** Files that are being made. */
  exports: RunningExports;
}

export interface MenuEntry {
  section: Section;
  name: string;
  path: string;
  /** Opens it after `g`. */
  letter: string;
}

interface Menu<Session> {
  name: string;
  /** What the key `/` searches. */
  searches: string;
  entries: (session: Session) => readonly MenuEntry[];
  /** Above the entries. */
  search?: (session: Session) => Html;
  who: (session: Session) => Html;
}
