/**
 * The meaning of the client's errors. Only a few of them say that nothing was stored; any other leaves the outcome unknown.
 */

import { ErrorType, isCommandError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';

/** The type of a client error; undefined for a bare error, such as one of a refused connection. */
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

/** The server rejects our credentials. The client reports some of these as bare transport errors. */
export function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}

/**
 * The server says that an append came after its deadline. The client writes its deadline into each append as an instant, so a
 * server refuses it at once if this machine's clock is behind.
 */
function isDeadlineExceeded(error: unknown): boolean {
  return typeOf(error) === ErrorType.DEADLINE_EXCEEDED;
}

/** Whether the server itself sent this error, which proves that the connection works. */
export function isAnswer(error: unknown): boolean {
  return [isWrongExpectedVersion, isStreamDeleted, isTooLarge, isAccessDenied, isDeadlineExceeded].some((is) =>
    is(error),
  );
}

/** Whether the connection is unusable; after other failures it is checked first. */
export function isConnectionBroken(error: unknown): boolean {
  const type = typeOf(error);
  if (type === ErrorType.UNAVAILABLE || type === ErrorType.CANCELLED || type === ErrorType.NOT_LEADER) return true;
  return type === undefined && !isAnswer(error);
}
