import type { Network } from './event-log-client.ts';

/** Nothing is lost, and nothing takes time. */
export const perfectNetwork: Network = {
  happens: () => false,
  delayMs: (leastMs) => leastMs,
  atCall: () => undefined,
};
