import type { Connections } from '../connect.ts';
import type { Secrets } from '../settings/secrets.ts';

/** The parts of the service; each can run as a process of its own. */
export const roles = ['api', 'projector', 'dispatcher', 'worker'] as const;
export type Role = (typeof roles)[number];

export interface RunningRole {
  /** What a person may open; undefined for a role that only listens for health checks. */
  url?: string;
  /** What a person should know of it, each in a sentence. */
  notices?: readonly string[];
  close: () => Promise<void>;
}

export type StartRole = (connections: Connections, secrets: Secrets) => Promise<RunningRole> | RunningRole;
