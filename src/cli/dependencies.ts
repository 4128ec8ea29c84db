import type { Pool } from 'pg';
import type { ReadModelQueries } from '../audit/compare/comparison.ts';
import type { AccountDependencies } from '../commands/accounts.ts';
import type { ClosingRound } from '../commands/close-period.ts';
import type { EraseAccountDependencies } from '../commands/erase-account.ts';
import type { StaffDependencies } from '../commands/staff.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import type { Actor } from '../domain/parse-event.ts';
import type { PlanCatalogue } from '../domain/plans.ts';
import type { StaffRole } from '../domain/staff-events.ts';
import type { EventStore, WholeLog } from '../ports/event-store.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import type { Output } from './output.ts';
import { commandTimeoutMs } from './wait-for-read-models.ts';

/** Everything that a command may use of a running service. */
export interface CliDependencies extends AccountDependencies, StaffDependencies, EraseAccountDependencies {
  newId: (prefix: 'acc' | 'key' | 'per' | 'stf' | 'stk') => string;
  store: EventStore & WholeLog;
  pool: Pool;
  macs: RowMacs;
  writers: WriterRegistry;
  /** @throws if the service runs with other plans */
  plans: () => Promise<PlanCatalogue>;
  queries: ReadModelQueries;
  /** The keys of personal data, wrapped, as statements for psql. */
  personalKeysAsSql: () => Promise<string>;
  /** What one person may give back to one account within 24 hours without a second person; no operator is bound by it. */
  approvalCents: number;
  /** Issuer of invoices and credit notes. */
  issuer: string;
  /** Name of the signed log by the settings; undefined without a key that signs. */
  proofOrigin: () => string | undefined;
  /** How long after its end a period still takes corrections. @throws if the service closes by another time */
  graceSeconds: () => Promise<number>;
  /** One round of what the dispatcher does by the clock. @throws as `graceSeconds` */
  closePeriods: () => Promise<ClosingRound>;
  /** Tells if any process has the projector's role now. */
  hasProjector: () => Promise<boolean>;
  /**
   * Makes the link with which somebody who was invited signs in once. Undefined: there is no staff console, or the person has
   * been sent too many.
   */
  createStaffLink?: (staffId: string) => Promise<string | undefined>;
  /** Mails that link; undefined without a mail server: then the command shows it. @throws {MailNotTaken} */
  mailStaffInvitation: ((invited: { email: string; role: StaffRole; link: string }) => Promise<void>) | undefined;
  actor: Actor;
  output: Output;
}

/**
 * Opens the connections that a command needs, runs it, and closes them again.
 *
 * @param options.wholeTables for commands that read whole tables, several at a time, which takes long
 */
export type RunCommand = (
  command: (cli: CliDependencies) => Promise<void>,
  options?: { wholeTables?: boolean },
) => Promise<void>;

/** Correlation, actor and budget of a command that changes an account. */
export const requestOf = ({ newUuid, actor }: Pick<CliDependencies, 'newUuid' | 'actor'>) => ({
  correlationId: newUuid(),
  actor,
  timeoutMs: commandTimeoutMs,
});
