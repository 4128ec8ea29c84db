import type { Endpoint } from './endpoint.ts';
import { creditsReference, getCredits } from './get-credits.ts';
import { documentsReference, getDocuments } from './get-documents.ts';
import { downloadsReference, getDownloads } from './get-downloads.ts';
import { getUsage, usageReference } from './get-usage.ts';
import { getVideoEvents, videoEventsReference } from './get-video-events.ts';
import { getVideoMetadata, videoMetadataReference } from './get-video-metadata.ts';
import { getVideoStatus, videoStatusReference } from './get-video-status.ts';
import { authKeyReference, postAuthKey } from './post-auth-key.ts';
import { postVideoDownload, videoDownloadReference } from './post-video-download.ts';

export const apiPrefix = '/api/v1';

/** The contract's five endpoints (§4), then those beside them. */
export const endpoints: readonly Endpoint[] = [
  { method: 'GET', path: '/video/metadata', handler: getVideoMetadata, reference: videoMetadataReference },
  {
    method: 'POST',
    path: '/video/download',
    handler: postVideoDownload,
    reference: videoDownloadReference,
    takesIdempotencyKey: true,
    whenUnavailable: 'enqueue_failed',
  },
  { method: 'GET', path: '/video/status', handler: getVideoStatus, reference: videoStatusReference, polls: true },
  { method: 'GET', path: '/credits', handler: getCredits, reference: creditsReference },
  { method: 'POST', path: '/auth/key', handler: postAuthKey, reference: authKeyReference, takesSession: true },
  {
    method: 'GET',
    path: '/video/events',
    handler: getVideoEvents,
    reference: videoEventsReference,
    waitsForEnds: true,
  },
  { method: 'GET', path: '/downloads', handler: getDownloads, reference: downloadsReference },
  { method: 'GET', path: '/usage', handler: getUsage, reference: usageReference },
  { method: 'GET', path: '/documents', handler: getDocuments, reference: documentsReference },
];
