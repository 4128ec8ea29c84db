import type { Pool } from 'pg';
import type { AccountCache, AccountDependencies } from '../../commands/accounts.ts';
import type { RequestTokens } from '../../commands/ids/request-token.ts';
import type { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import type { PlanCatalogue } from '../../domain/plans.ts';
import type { PendingVoids } from '../../ports/billing.ts';
import type { ConsoleSessions, LookUpsOfForms, OwnerSessions, SignInLinks } from '../../ports/console-sessions.ts';
import type { EventStore } from '../../ports/event-store.ts';
import type { FileStore } from '../../ports/files.ts';
import type { PlatformRules } from '../../ports/platform-rules.ts';
import type { RowMacs } from '../../ports/row-macs.ts';
import type { DownloadProgress, MetadataProbe, ShortLinks } from '../../ports/videos.ts';
import type { LiveDownloads } from '../live/live-downloads.ts';
import type { SignInMails } from '../sign-in/sign-in-mails.ts';
import type { SiteDependencies } from '../site.ts';

/** Dependencies of the console's pages and actions, which `routes.ts` lists. */
export interface ConsoleDependencies extends SiteDependencies {
  pool: Pool;
  store: EventStore;
  macs: RowMacs;
  /** The API's own: an account has one writer in each process. */
  writers: WriterRegistry;
  accounts: AccountDependencies;
  /** Holds the accounts whose live pages are open. */
  accountCache: AccountCache;
  plans: PlanCatalogue;
  sessions: ConsoleSessions;
  links: SignInLinks;
  signInMails: SignInMails;
  /** The keyed hashes of an e-mail address, under which people are found. */
  emailHashes: (email: string) => readonly string[];
  /** Counts a request for a sign-in link. @returns whether this client has asked too often */
  countSignIn: (clientAddress: string) => boolean;
  tokens: RequestTokens;
  pendingVoids: PendingVoids;
  probe: MetadataProbe;
  lookUpsOfForms: LookUpsOfForms;
  /** Counts what is tried in the console in the account's hourly window of sessions. */
  admit: OwnerSessions['admit'];
  shortLinks: ShortLinks;
  rules: PlatformRules;
  samplePlatformOrigin: string | undefined;
  files: FileStore;
  fileRetentionSeconds: number;
  /** The last progress that a worker reported of a running download. */
  progress: (token: string) => DownloadProgress | undefined;
  live: LiveDownloads;
  issuer: string;
  now: () => string;
  realNowMs: () => number;
  newUuid: () => string;
  randomBits: (bytes: number) => Buffer;
}
