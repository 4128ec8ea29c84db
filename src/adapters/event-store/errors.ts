/**
 * What the client's errors mean. Only a few of them say that nothing was stored; any other leaves the outcome unknown.
 */

import { ErrorType, isCommandError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';

/** The type of an error of the client; undefined for a bare error, as it gives when nobody listens. */
function typeOf(error: unknown): ErrorType | undefined {
  return error instanceof Error && isCommandError(error) ? error.type : undefined;
}

export function isWrongExpectedVersion(error: unknown): boolean {
  return typeOf(error) === ErrorType.WRONG_EXPECTED_VERSION;
}

export function isStreamNotFound(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_NOT_FOUND;
}

export function isStreamDeleted(error: unknown): boolean {
  return typeOf(error) === ErrorType.STREAM_DELETED;
}

export function isTooLarge(error: unknown): boolean {
  return typeOf(error) === ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED;
}

export function isAccessDenied(error: unknown): boolean {
  return typeOf(error) === ErrorType.ACCESS_DENIED;
}

/** The server rejects our credentials: the client passes some of these on as bare transport errors. */
export function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}

/**
 * The server says that an append came too late. The client writes the instant of its deadline into each append, so that
 * a server says so at once where the clock of this machine is behind.
 */
function isDeadlineExceeded(error: unknown): boolean {
  return typeOf(error) === ErrorType.DEADLINE_EXCEEDED;
}

/** Whether the server itself said this, so that the way there and back works. */
export function isAnswer(error: unknown): boolean {
  return [isWrongExpectedVersion, isStreamDeleted, isTooLarge, isAccessDenied, isDeadlineExceeded].some((is) =>
    is(error),
  );
}

/** Whether the connection cannot be used any more; other failures are looked into first. */
export function isConnectionBroken(error: unknown): boolean {
  const type = typeOf(error);
  if (type === ErrorType.UNAVAILABLE || type === ErrorType.CANCELLED || type === ErrorType.NOT_LEADER) return true;
  return type === undefined && !isAnswer(error);
}
