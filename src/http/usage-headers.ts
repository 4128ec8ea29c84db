import type { FastifyReply } from 'fastify';
import type { RateWindow } from '../../projections/admission.ts';

/** Contract §4.6: four headers on every response of the API. */
export interface UsageHeaders {
  window: RateWindow;
  creditsRemaining: number;
}

export function writeUsageHeaders(reply: FastifyReply, { window, creditsRemaining }: UsageHeaders): void {
  reply.headers(usageHeaders({ window, creditsRemaining }));
}

export const usageHeaders = ({ window, creditsRemaining }: UsageHeaders) => ({
  'X-RateLimit-Limit': String(window.limit),
  'X-RateLimit-Remaining': String(window.remaining),
  'X-RateLimit-Reset': String(window.resetAtSeconds),
  'X-Credits-Remaining': String(creditsRemaining),
});
