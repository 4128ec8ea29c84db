import type { VideoMetadata } from './videos.ts';

/** Sign-in to the console: links that are mailed, the sessions that they lead to, and what Postgres alone has of those. */

/** The headers that a request of the API carries in place of a key, as they were sent. */
interface SessionRequest {
  cookie: string | undefined;
  origin: string | undefined;
  formToken: string | undefined;
}

/** The API's view of sessions, for the one endpoint that takes them. */
export interface OwnerSessions {
  /** @returns undefined unless the cookie is of a session, and origin and form token are those of its pages */
  find(request: SessionRequest): Promise<ConsoleSession | undefined>;
  /** Counts a request in the account's own window: an exact rolling hour, shared by all processes. */
  admit(accountId: string, hourlyLimit: number): Promise<SessionAdmission>;
}

export interface SessionAdmission {
  isAdmitted: boolean;
  /** Requests in the window, this one included if it was admitted. */
  counted: number;
  /** When the oldest of them was admitted, in milliseconds since 1970. */
  oldestMs: number;
}

/** A person's session in one browser. */
export interface ConsoleSession {
  /** Names the session in the list of sessions; not the secret in the cookie. */
  sessionId: string;
  accountId: string;
  personId: string;
  /** Each form of this session sends it, so that no other site can send one (`X-CSRF-Token` for programs). */
  formToken: string;
}

export interface ListedSession {
  sessionId: string;
  /** UTC ISO-8601. */
  startedAt: string;
  seenAt: string;
  /** The browser's own description of itself. */
  browser: string;
}

/** Who may sign in by a link: everybody who has one of these addresses, by their keyed hashes. */
interface LinkSubject {
  emailHashes: readonly string[];
}

/** One of the accounts that an address may sign in to. */
export interface SignInChoice {
  accountId: string;
  personId: string;
}

export interface ReadLink extends LinkSubject {
  choices: SignInChoice[];
  isOfBrowser: (browser: string | undefined) => boolean;
  /** No browser has asked for it: the service has printed it, or it came with an invitation. */
  isUnasked: boolean;
}

export interface SignInLinks {
  /**
   * @param link browser: secret of the browser that asked; undefined for a link that the service prints
   * @returns the secret of the new link; undefined for an address without an account, and beyond the limit of links for this
   *   address or for one of its accounts
   */
  create(link: LinkSubject & { browser: string | undefined }): Promise<string | undefined>;
  /** Reads a link without using it up; undefined if it is unknown, used or too old. */
  read(secret: string): Promise<ReadLink | undefined>;
  /**
   * Uses a link up, and starts a session: both or neither.
   *
   * @param start accountId and personId: a choice that the log confirms; replaces: secret of the session that this browser had before, which ends
   * @returns the secret of the session; undefined if the link cannot be used any more, or not by this person
   */
  use(
    secret: string,
    start: SignInChoice & { browser: string; replaces: string | undefined },
  ): Promise<string | undefined>;
}

/** A look-up that a form asks for: its key, and what it was filled in with. */
export interface LookUpOfForm {
  accountId: string;
  formHash: string;
}

/** Makes a form that is sent again the same look-up: it is charged once. */
export interface LookUpsOfForms {
  /** @returns `begun`: this request is the first, and looks up; `under_way`: another one does; else what that one has found */
  begin(form: LookUpOfForm): Promise<'begun' | 'under_way' | VideoMetadata>;
  found(form: LookUpOfForm, metadata: VideoMetadata): Promise<void>;
  /** The form may look up again. */
  notCharged(form: LookUpOfForm): Promise<void>;
}

export interface ConsoleSessions {
  /**
   * @returns undefined for an unknown secret, a session that has ended, and a person who was removed
   * @throws {ReaderRefused} while a reader of the log is refused, for a session
   */
  find(secret: string): Promise<ConsoleSession | undefined>;
  /**
   * The ids of those that have not ended, of people who were not removed.
   *
   * @throws {ReaderRefused} as `find`
   */
  findAlive(sessions: readonly ConsoleSession[]): Promise<Set<string>>;
  list(session: ConsoleSession): Promise<ListedSession[]>;
  /** Ends a session of the same person. @throws {NotOnStandby} once it has ended: it may be alive after a promotion */
  end(session: ConsoleSession, sessionId: string): Promise<void>;
  /**
   * Ends all sessions of this person in the account, this one included, and all links that were asked for with the person's
   * address.
   *
   * @throws {NotOnStandby} as `end`
   */
  endAll(session: ConsoleSession): Promise<void>;
}
