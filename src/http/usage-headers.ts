import type { FastifyReply } from 'fastify';
import type { RateWindow } from '../../projections/admission/admission.ts';
import { mediaType } from './envelope.ts';

/** Contract §4.6: four headers on every response of the API. */
export interface UsageHeaders {
  window: RateWindow;
  creditsRemaining: number;
}

/**
 * Written last, with the media type: Fastify has added a charset to it by then. It adds none to an answer of bytes, but Node sends
 * bytes apart from the head, which takes twice as long.
 */
export function writeUsageHeaders(reply: FastifyReply, headers: UsageHeaders): void {
  reply.headers({ ...usageHeaders(headers), 'content-type': mediaType });
}

export const usageHeaders = ({ window, creditsRemaining }: UsageHeaders) => ({
  'X-RateLimit-Limit': String(window.limit),
  'X-RateLimit-Remaining': String(window.remaining),
  'X-RateLimit-Reset': String(window.resetAtSeconds),
  'X-Credits-Remaining': String(creditsRemaining),
});
