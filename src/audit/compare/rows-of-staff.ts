import type { RecordedEvent } from '../rules/audited-log.ts';
import type { Link } from '../rules/event-schemas.ts';
import type { ExpectedRows } from './expected-rows.ts';
import { type Correction, newMember, type Token } from './subjects.ts';

const pattern = /^(?:staff-stf_[a-z0-9]{16,32}|corrections-acc_[a-z0-9]{16,32})$/;

/** Streams of staff, and of the corrections that they ask for. */
export const isOfStaff = (stream: string): boolean => pattern.test(stream);

/** The e-mail address with which an event brings somebody in; null for an event without one. */
export function emailOf({ type, data }: Link): string | null {
  if (type !== 'StaffInvited' && type !== 'StaffSignedIn') return null;
  return (Object(data.personal) as { email?: string | null }).email ?? null;
}

/** Notes which rows each event of staff and of their corrections must have made or changed. */
export class RowsOfStaff {
  readonly #rows: ExpectedRows;
  readonly #members = new Map<string, ReturnType<typeof newMember>>();
  readonly #withAddress = new Set<string>();
  readonly #tokens = new Map<string, Token>();
  /** Those that have not ended. */
  readonly #corrections = new Map<string, Correction>();
  readonly #revisions = new Map<string, number>();

  constructor(rows: ExpectedRows) {
    this.#rows = rows;
  }

  /** The newest revision that was applied of an account's corrections; -1 before the first. */
  revisionOf(accountId: string): number {
    return this.#revisions.get(accountId) ?? -1;
  }

  apply(event: RecordedEvent): void {
    if (!isOfStaff(event.stream) || typeof event.data !== 'object' || event.data === null) return;
    const link = event as Link;
    if (event.stream.startsWith('staff-')) this.#ofStaff(link);
    else this.#correction(link);
  }

  #ofStaff(event: Link): void {
    const { type, data } = event;
    if (type === 'PersonalDataViewed')
      this.#rows.expect({ ...ofAll(event), table: 'staff_looks', key: event.id, subject: event, isNew: true });
    else if (type === 'StaffTokenIssued') this.#token(event, { issued: event, revokedAt: null }, true);
    else if (type === 'StaffTokenRevoked') {
      const token = this.#tokens.get(data.token_id);
      if (token) this.#token(event, token, false);
    } else this.#member(event);
  }

  #token(event: Link, token: Token, isNew: boolean): void {
    const key = token.issued.data.token_id;
    this.#tokens.set(key, token);
    if (!isNew) token.revokedAt ??= event.metadata.time;
    this.#rows.expect({ ...ofAll(event), table: 'staff_tokens', key, subject: token, isNew });
  }

  #member(event: Link): void {
    const { type, data, metadata } = event;
    const key = data.staff_id;
    const known = this.#members.get(key);
    const isSignIn = type === 'StaffSignedIn';
    const comes = type === 'StaffInvited' || (isSignIn && !known);
    if (!known && !comes) return;
    const subject = known ?? newMember(key);
    this.#members.set(key, subject);
    if (comes) Object.assign(subject, { invited: !isSignIn, since: metadata.time, removed_at: null });
    if (comes || type === 'StaffRoleChanged' || (isSignIn && data.by === 'provider')) subject.role = data.role;
    if (type === 'StaffRemoved') subject.removed_at = metadata.time;
    this.#rows.expect({ ...ofAll(event), table: 'staff', key, subject, isNew: !known });
    if (emailOf(event) === null || this.#withAddress.has(key)) return;
    this.#withAddress.add(key);
    this.#rows.expect({ ...ofAll(event), table: 'staff_addresses', key, subject, isNew: true });
  }

  #correction(event: Link): void {
    const { type, data, revision, stream } = event;
    const accountId = stream.slice('corrections-'.length);
    this.#revisions.set(accountId, revision);
    const key = data.correction_id;
    const isNew = type === 'CorrectionAsked';
    const subject = isNew ? asked(event) : this.#corrections.get(key);
    if (!subject) return;
    this.#corrections.set(key, subject);
    subject.revision = revision;
    if (type === 'CorrectionApproved') Object.assign(subject, { status: 'permitted', decided: event });
    if (type === 'CorrectionRefused') Object.assign(subject, { status: 'refused', decided: event, ended: event });
    if (type === 'CorrectionMade') Object.assign(subject, { status: 'made', ended: event, madeCents: data.cents });
    if (type === 'CorrectionFailed') Object.assign(subject, { status: 'failed', ended: event, why: data.why });
    const isFinal = subject.ended !== null;
    this.#rows.expect({ table: 'corrections', accountId, key, subject, at: event, isNew, isFinal, day: '' });
    if (isFinal) this.#corrections.delete(key);
  }
}

const ofAll = (at: Link) => ({ accountId: '', at, day: '' });

const asked = (event: Link): Correction => ({
  asked: event,
  status: event.data.needs_approval ? 'asked' : 'permitted',
  revision: event.revision,
  decided: null,
  ended: null,
  madeCents: null,
  why: null,
});
