import type { Pool } from 'pg';
import type { PolledJob } from '../../../projections/jobs.ts';
import type { StaffDependencies as StaffCommands } from '../../commands/staff.ts';
import type { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import type { StaffRole } from '../../domain/staff-events.ts';
import type { IdentityProvider } from '../../ports/identity-provider.ts';
import type { StaffLinks, StaffSessions } from '../../ports/staff-sessions.ts';
import type { SharedDependencies } from '../site.ts';

/** Dependencies of the staff console's pages, actions and endpoints, which `page-routes.ts` and `json-endpoints.ts` list. */
export interface StaffDependencies extends SharedDependencies, StaffCommands {
  writers: WriterRegistry;
  sessions: StaffSessions;
  links: StaffLinks;
  /** Mails the link of somebody who was invited; undefined without a mail server: then an operator makes it on the command line. @throws {MailNotTaken} */
  mailInvitation: ((invited: { email: string; role: StaffRole; link: string }) => Promise<void>) | undefined;
  /** Undefined where nobody signs in by OpenID Connect. */
  provider: IdentityProvider | undefined;
  /** Whether the queue of downloads answers this process now. */
  queueAnswers: () => Promise<boolean>;
  /** What a client that polls a download now is answered: admitted by no key, and with a link that has no signature. */
  pollAnswer: (job: PolledJob) => Promise<{ status: number; body: object }>;
  /** Connections for files that are being made: never those that pages wait for. */
  exportPool: Pool;
  /** What one person may give back to one account within 24 hours without a second person. */
  approvalCents: number;
  /** How long after its end a period may be corrected before its books are closed. */
  closingGraceSeconds: number;
  /** Version of this service. */
  version: string;
}
