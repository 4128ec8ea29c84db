import { DatabaseError } from 'pg';
import { PostgresUnusable } from '../ports/service-parts.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

const reasons: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED|CONNECTION_REFUSED/, 'no server listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'its host is unknown'],
  [/Failed to discover/, 'none of its hosts answers'],
  [/EHOSTUNREACH|ENETUNREACH/, 'its host cannot be reached'],
  [/(?<!authentication.)timeout|ETIMEDOUT|No answer within/i, 'it does not answer'],
];

/**
 * Tells in one line that a server cannot be used at the start.
 *
 * @param at its address, whose hosts alone are shown, and its setting; undefined if the address is that of an instance
 */
export function serverUnreachable(
  server: string,
  at: { url: string; setting: string | undefined },
  error: unknown,
): ConfigurationRefused {
  const setting = at.setting === undefined ? '' : ` (${at.setting})`;
  return new ConfigurationRefused(`${server} at ${hostsOf(at.url)}${setting} cannot be used: ${reasonOf(error)}`);
}

/** All hosts of a cluster's address, without user and password. */
function hostsOf(url: string): string {
  const [authority = ''] = url.replace(/^[\w+]+:\/\//, '').split(/[/?#]/);
  return authority.slice(authority.lastIndexOf('@') + 1);
}

function reasonOf(error: unknown): string {
  // Whatever a server says, it does answer.
  if (error instanceof DatabaseError) return `it answers "${error.message.replaceAll(/\s+/g, ' ')}"`;
  if (error instanceof PostgresUnusable) return error.message;
  const { code, message } = error as { code?: unknown; message?: unknown };
  const told = `${String(code)} ${String(message)}`;
  const known = reasons.find(([pattern]) => pattern.test(told));
  return known?.[1] ?? String(message ?? error).replaceAll(/\s+/g, ' ');
}
