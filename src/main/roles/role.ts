import type { Secrets } from '../../adapters/derive-keys.ts';
import type { Connections } from '../connect.ts';

/** The parts of the service; each can run as a process of its own. */
export const roles = ['api', 'projector', 'dispatcher', 'worker'] as const;
export type Role = (typeof roles)[number];

export interface RunningRole {
  /** Address to open in a browser; undefined for a role that only answers health checks. */
  url?: string;
  /** Address of the staff console, without its path. */
  staffUrl?: string;
  /** Sentences for the person who started it. */
  notices?: readonly string[];
  /** Fulfilled when nothing is being started any more that its first work would wait for. Never rejected. */
  warmedUp?: Promise<void>;
  close: () => Promise<void>;
}

export type StartRole = (connections: Connections, secrets: Secrets) => Promise<RunningRole> | RunningRole;

/** How long the API waits for a worker's answer about a video. */
export const metadataTimeoutMs = 20_000;

/** How long it waits for the target of a short link: well below the limit of a request to download. */
export const shortLinkTimeoutMs = 5_000;
