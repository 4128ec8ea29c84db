import type { StaffRole } from '../domain/staff-events.ts';

/** Sign-in to the staff console: links that are mailed or printed, and the sessions that they or the OpenID provider lead to. */

/** A session in one browser, of somebody who is staff now. */
export interface StaffSession {
  /** Names the session in the list of sessions; not the secret in the cookie. */
  sessionId: string;
  staffId: string;
  /** As the read model has it now. What gives money back asks the log. */
  role: StaffRole;
  /** Each form of this session sends it, so that no other site can send one. */
  formToken: string;
}

export interface StaffSessions {
  /**
   * @returns undefined for an unknown secret and a session that has ended; `role` is that of the sign-in, and nobody has asked
   *   whether the person is still staff
   * @throws {ReaderRefused} while a reader of the log is refused, for a session
   */
  find(secret: string): Promise<StaffSession | undefined>;
  /** @param start replaces: secret of the session that this browser had before, which ends @returns the secret of the session */
  start(start: { staffId: string; role: StaffRole; browser: string; replaces: string | undefined }): Promise<string>;
  /** The ids of those that have not ended, as `find` has them. @throws {ReaderRefused} as `find` */
  findAlive(sessions: readonly StaffSession[]): Promise<Set<string>>;
  /** Ends a session of this person. @throws {NotOnStandby} once it has ended: it may be alive after a promotion */
  end(staffId: string, sessionId: string): Promise<void>;
  /** Ends all sessions of this person. @throws {NotOnStandby} as `end` */
  endAll(staffId: string): Promise<void>;
}

export interface StaffLinks {
  /**
   * @param link browser: secret of the browser that asked; undefined for a link that the service prints, which works for longer
   * @returns the secret of the new link; undefined beyond the limit of links for this person
   */
  create(link: { staffId: string; browser: string | undefined }): Promise<string | undefined>;
  /** Reads a link without using it up; undefined if it is unknown, used or too old. */
  read(secret: string): Promise<ReadStaffLink | undefined>;
  /** Uses a link up. @returns whether it is this call that did */
  use(secret: string): Promise<boolean>;
}

export interface ReadStaffLink {
  staffId: string;
  isOfBrowser: (browser: string | undefined) => boolean;
  /** No browser has asked for it: the service has printed it, or it came with an invitation. */
  isUnasked: boolean;
}
