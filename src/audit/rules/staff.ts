import { Chain } from './chain.ts';
import type { Report } from './divergence.ts';
import type { Link } from './event-schemas.ts';
import { staffStream } from './streams.ts';

const roles = ['support', 'finance', 'admin'];

/** True if a member of staff who has signed in did this; at the command line nobody has. */
export const isBySignedIn = ({ metadata: { actor } }: Link): boolean =>
  actor.type === 'staff' && /^stf_[a-z0-9]{16,32}$/.test(actor.id);

/** The role that somebody of staff gives; empty for anybody else. */
export const roleOf = ({ metadata: { actor } }: Link): string => (actor as { role?: string }).role ?? '';

/** What somebody does may be stamped that much later than the change of role, or the removal, that it has not seen. */
const requestBudgetMs = 10_000;
const isSoonAfter = (time: string, change: string): boolean => Date.parse(time) <= Date.parse(change) + requestBudgetMs;

const weekMs = 7 * 86_400_000;

interface Personal {
  email?: unknown;
  unverified_email?: unknown;
}

/** The mailbox of an address: capital letters do not count, nor what stands between a plus sign and the host. */
const withoutSuffix = (address: string): string => address.toLowerCase().replace(/\+[^@]*/, '');

/** The roles that somebody had, and until when. */
export class StaffHistory {
  readonly roles: { role: string; position: bigint; time: string }[] = [];
  invited = false;
  removed: { position: bigint; time: string } | undefined;
  /** The e-mail addresses that somebody has had, verified or not, and since when. */
  readonly #addresses: { address: string; position: bigint; time: string }[] = [];
  /** The sign-ins. Older versions did not record an address that the provider has not verified. */
  readonly #signIns: { isOlder: boolean; position: bigint }[] = [];
  /** The invitation, if somebody who had signed in gave it. */
  #invitation: { by: string; time: string } | undefined;

  follow(event: Link): void {
    const { type, data, position, metadata } = event;
    const { time } = metadata;
    if (type === 'StaffInvited') this.invited = true;
    if (type === 'StaffInvited' && isBySignedIn(event)) this.#invitation = { by: metadata.actor.id, time };
    const gives =
      type === 'StaffInvited' || type === 'StaffRoleChanged' || (type === 'StaffSignedIn' && data.by === 'provider');
    if (gives) this.roles.push({ role: data.role, position, time });
    if (type === 'StaffRemoved') this.removed ??= { position, time };
    if (type !== 'StaffInvited' && type !== 'StaffSignedIn') return;
    const { email, unverified_email: unverified } = Object(data.personal) as Personal;
    for (const each of [email, unverified])
      if (typeof each === 'string') this.#addresses.push({ address: withoutSuffix(each), position, time });
    if (type === 'StaffSignedIn') this.#signIns.push({ isOlder: unverified === undefined, position });
  }

  /**
   * Whether two members may be one person, as far as the log says before an event: they have an address in common, or one of them
   * has none.
   *
   * @param isSure leaves out what whoever decided the event may not have seen yet
   */
  maybeSameAs(other: StaffHistory, event: Link, { isSure }: { isSure: boolean }): boolean {
    if ([this, other].some((each) => each.#isSeenNameless(event, isSure))) return true;
    return this.sharesAddress(other, event, { isSure });
  }

  /** @param isSure see `maybeSameAs` */
  sharesAddress(other: StaffHistory, event: Link, { isSure }: { isSure: boolean }): boolean {
    const addresses = other.#addressesBefore(event, isSure);
    return this.#addressesBefore(event, isSure).some((address) => addresses.includes(address));
  }

  /** Tells whether the log has no address of this member before an event. */
  isNameless(event: Link): boolean {
    return this.#addressesBefore(event, false).length === 0;
  }

  /** Earlier versions let somebody without an address approve: only who has signed in since is sure to be refused. */
  #isSeenNameless(event: Link, isSure: boolean): boolean {
    if (!isSure) return this.#addressesBefore(event, true).length === 0;
    const signedIn = this.#signIns.findLast(({ position }) => position < event.position);
    return signedIn?.isOlder !== true && this.isNameless(event);
  }

  /** The id of the member who invited this one, within seven days before a time or after it. */
  invitedBy(time: string): string | undefined {
    const { by, time: invitedAt } = this.#invitation ?? {};
    return invitedAt !== undefined && Date.parse(time) - Date.parse(invitedAt) <= weekMs ? by : undefined;
  }

  #addressesBefore({ position, metadata }: Link, isSure: boolean): string[] {
    const before = this.#addresses.filter(
      (each) => each.position < position && !(isSure && isSoonAfter(metadata.time, each.time)),
    );
    return before.map(({ address }) => address);
  }

  /** Whether somebody may have acted in this role at the time of an event. */
  allows(role: string, { position, metadata: { time } }: Link): boolean {
    if (this.removed && this.removed.position < position && !isSoonAfter(time, this.removed.time)) return false;
    return this.roles.some((given, index) => {
      const next = this.roles[index + 1];
      const holds = !next || next.position > position || isSoonAfter(time, next.time);
      return given.role === role && given.position < position && holds;
    });
  }
}

/** A member of staff: who this is, what programs read in the member's name, and whose personal data were looked at. */
export class StaffMember extends Chain<null> {
  readonly history = new StaffHistory();
  readonly #staffId: string;
  /** Whether each token is revoked. */
  readonly #tokens = new Map<string, boolean>();

  constructor(staffId: string, report: Report) {
    super(staffStream(staffId), null, report);
    this.#staffId = staffId;
  }

  check(event: Link): void {
    const { type, data } = event;
    this.mustEqual('staff_events', event, { staff_id: this.#staffId });
    this.must('staff_events', this.#mayCome(event), event, 'type', 'what this member allows');
    if ('role' in data) this.must('staff_events', roles.includes(data.role), event, 'data.role', roles.join(', '));
    this.#checkActor(event);
    if (type === 'StaffTokenIssued') this.#tokens.set(data.token_id, false);
    if (type === 'StaffTokenRevoked') this.#tokens.set(data.token_id, true);
    this.history.follow(event);
  }

  #mayCome({ type, data }: Link): boolean {
    const { invited, removed } = this.history;
    const current = this.history.roles.at(-1)?.role;
    if (type === 'StaffInvited') return current === undefined;
    if (type === 'StaffSignedIn' && data.by === 'provider') return !removed && !invited;
    if (current === undefined) return false;
    if (type === 'StaffTokenRevoked') return this.#tokens.get(data.token_id) === false;
    if (removed) return false;
    if (type === 'StaffSignedIn') return invited && data.role === current;
    if (type === 'StaffRoleChanged') return invited;
    return type !== 'StaffTokenIssued' || !this.#tokens.has(data.token_id);
  }

  /** The role of an admin is checked where all actors are. */
  #checkActor(event: Link): void {
    const { type, data, metadata } = event;
    if (type === 'StaffSignedIn' || type === 'PersonalDataViewed') {
      this.mustEqual('staff_managed', event, { type: 'staff', id: this.#staffId }, 'metadata.actor.');
      if (type === 'StaffSignedIn') this.mustEqual('staff_role', event, { role: data.role }, 'metadata.actor.');
      return;
    }
    const isManager = metadata.actor.type === 'staff' && (!isBySignedIn(event) || roleOf(event) === 'admin');
    this.must('staff_managed', isManager, event, 'metadata.actor', 'an admin or an operator');
  }
}
