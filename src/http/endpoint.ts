import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import type { Admissions } from '../../projections/admission/admission.ts';
import type { AccountDependencies } from '../commands/accounts.ts';
import type { RequestTokens } from '../commands/ids/request-token.ts';
import type { WriterRegistry } from '../commands/usage/writer-registry.ts';
import type { PendingVoids } from '../ports/billing.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { FileStore } from '../ports/files.ts';
import type { PlatformRules } from '../ports/platform-rules.ts';
import type { RowMacs } from '../ports/row-macs.ts';
import type { ServiceParts } from '../ports/service-parts.ts';
import type { DownloadProgress, MetadataProbe, ShortLinks } from '../ports/videos.ts';
import type { Cursors } from './cursors.ts';
import type { ApiErrorCode } from './errors.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';
import type { PartsAway } from './retry-after.ts';
import type { WaitingPolls } from './waiting-polls.ts';

/** Dependencies of the handlers of endpoints, which `endpoints.ts` lists. */
export interface EndpointDependencies {
  admissions: Admissions;
  /** For what a request reads beside its admission. */
  pool: Pool;
  macs: RowMacs;
  cursors: Cursors;
  writers: WriterRegistry;
  store: EventStore;
  pendingVoids: PendingVoids;
  tokens: RequestTokens;
  probe: MetadataProbe;
  shortLinks: ShortLinks;
  rules: PlatformRules;
  files: FileStore;
  /** How long after its end a download's file is given out. */
  fileRetentionSeconds: number;
  accounts: AccountDependencies;
  /** Resolves once a key is in force; false when that takes too long. */
  keyInForce: (keyId: string) => Promise<boolean>;
  /** The last progress that a worker reported of a running download. */
  progress: (token: string) => DownloadProgress | undefined;
  waitingPolls: WaitingPolls;
  now: () => string;
  realNowMs: () => number;
  newUuid: () => string;
  serviceParts: ServiceParts;
  partsAway: PartsAway;
  /** `http://127.0.0.1:…` in demo and test mode. */
  samplePlatformOrigin: string | undefined;
}

export interface Endpoint {
  method: 'GET' | 'POST';
  path: string;
  handler: (dependencies: EndpointDependencies) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
  reference: EndpointReference;
  /** Its query names a job whose row is wanted with the admission. */
  polls?: true;
  /** It may wait for the end of a download, and takes no place in the hourly window if it tells one. */
  waitsForEnds?: true;
  /** It takes a session of the console in place of a key. */
  takesSession?: true;
  /** It takes an Idempotency-Key, whose download is wanted with the admission. */
  takesIdempotencyKey?: true;
  /** Its error while a part that it needs is away; default 503. Two cases of `authenticate.ts` are 503 for all endpoints. */
  whenUnavailable?: ApiErrorCode;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    polls?: true | undefined;
    waitsForEnds?: true | undefined;
    takesSession?: true | undefined;
    takesIdempotencyKey?: true | undefined;
    whenUnavailable?: ApiErrorCode | undefined;
  }
}
