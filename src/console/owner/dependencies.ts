import type { AccountCache, AccountDependencies } from '../../commands/accounts.ts';
import type { RequestTokens } from '../../commands/ids/request-token.ts';
import type { WriterRegistry } from '../../commands/usage/writer-registry.ts';
import type { OfferedPlans } from '../../domain/plans.ts';
import type { PendingVoids } from '../../ports/billing.ts';
import type { ConsoleSessions, LookUpsOfForms, OwnerSessions, SignInLinks } from '../../ports/console-sessions.ts';
import type { FileStore } from '../../ports/files.ts';
import type { PlatformRules } from '../../ports/platform-rules.ts';
import type { MetadataProbe, ShortLinks } from '../../ports/videos.ts';
import type { SharedDependencies } from '../site.ts';

/** Dependencies of the console's pages and actions, which `page-routes.ts` lists. */
export interface ConsoleDependencies extends SharedDependencies, OfferedPlans {
  /** The API's own: an account has one writer in each process. */
  writers: WriterRegistry;
  accounts: AccountDependencies;
  /** Holds the accounts whose live pages are open. */
  accountCache: AccountCache;
  sessions: ConsoleSessions;
  links: SignInLinks;
  /** The keyed hashes of an e-mail address, under which people are found. */
  emailHashes: (email: string) => readonly string[];
  /** Mails a person that they may sign in. @returns whether a mail server has taken the mail */
  mailInvitation: (invited: { email: string; accountId: string }) => Promise<boolean>;
  tokens: RequestTokens;
  pendingVoids: PendingVoids;
  probe: MetadataProbe;
  lookUpsOfForms: LookUpsOfForms;
  /** Counts what is tried in the console in the account's hourly window of sessions. */
  admit: OwnerSessions['admit'];
  shortLinks: ShortLinks;
  rules: PlatformRules;
  files: FileStore;
  fileRetentionSeconds: number;
  realNowMs: () => number;
}
