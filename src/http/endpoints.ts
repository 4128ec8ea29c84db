import type { FastifyReply, FastifyRequest } from 'fastify';
import type { UsageLanes } from '../commands/usage-lanes.ts';
import type { AccountDependencies } from '../commands/accounts.ts';
import type { DownloadTokens } from '../commands/download-token.ts';
import type { DownloadProgress, FileStore, MetadataProbe } from '../commands/ports.ts';
import type { ApiErrorCode } from './errors.ts';
import { creditsReference, getCredits } from './get-credits.ts';
import { getVideoMetadata, videoMetadataReference } from './get-video-metadata.ts';
import { getVideoStatus, videoStatusReference } from './get-video-status.ts';
import { authKeyReference, postAuthKey } from './post-auth-key.ts';
import { postVideoDownload, videoDownloadReference } from './post-video-download.ts';
import type { EndpointReference } from './reference/endpoint-reference.ts';

export interface EndpointDependencies {
  lanes: UsageLanes;
  tokens: DownloadTokens;
  probe: MetadataProbe;
  files: FileStore;
  accounts: AccountDependencies;
  /** Resolves once a key is in force; false when that takes too long. */
  keyInForce: (keyId: string) => Promise<boolean>;
  /** What a worker last said of a running download. */
  progress: (token: string) => DownloadProgress | undefined;
  now: () => string;
  realNowMs: () => number;
  newUuid: () => string;
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
  /** What it answers while a part that it needs is away; 503 unless its own meaning fits better. */
  whenUnavailable?: ApiErrorCode;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    polls?: true;
    whenUnavailable?: ApiErrorCode;
  }
}

export const apiPrefix = '/api/v1';

/** The contract's five endpoints (§4). */
export const endpoints: readonly Endpoint[] = [
  { method: 'GET', path: '/video/metadata', handler: getVideoMetadata, reference: videoMetadataReference },
  {
    method: 'POST',
    path: '/video/download',
    handler: postVideoDownload,
    reference: videoDownloadReference,
    whenUnavailable: 'enqueue_failed',
  },
  { method: 'GET', path: '/video/status', handler: getVideoStatus, reference: videoStatusReference, polls: true },
  { method: 'GET', path: '/credits', handler: getCredits, reference: creditsReference },
  { method: 'POST', path: '/auth/key', handler: postAuthKey, reference: authKeyReference },
];
