/**
 * The meaning of the client's errors. Only a few of them say that nothing was stored; any other leaves the outcome unknown.
 */

import { ErrorType, isCommandError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';

/** The type of a client error; undefined for a bare error, such as one of a refused connection. */
function typeOf(error: unknown): ErrorType | undefined {
  return error instanceof Error && isCommandError(error) ? error.type : undefined;
}

const hasType =
  (type: ErrorType) =>
  (error: unknown): boolean =>
    typeOf(error) === type;

export const isWrongExpectedVersion = hasType(ErrorType.WRONG_EXPECTED_VERSION);
export const isStreamNotFound = hasType(ErrorType.STREAM_NOT_FOUND);
export const isStreamDeleted = hasType(ErrorType.STREAM_DELETED);
export const isTooLarge = hasType(ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED);
export const isAccessDenied = hasType(ErrorType.ACCESS_DENIED);

/** The server rejects our credentials. The client reports some of these as bare transport errors. */
export function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === status.UNAUTHENTICATED;
}

/**
 * The server says that an append came after its deadline. The client writes its deadline into each append as an instant, so a
 * server refuses it at once if this machine's clock is behind.
 */
const isDeadlineExceeded = hasType(ErrorType.DEADLINE_EXCEEDED);

/** True if the server itself sent this error, which proves that the connection works. */
export function isAnswer(error: unknown): boolean {
  const answers = [isWrongExpectedVersion, isStreamDeleted, isTooLarge, isAccessDenied, isDeadlineExceeded];
  return answers.some((is) => is(error));
}

/** True if the connection is unusable; after other failures it is checked first. */
export function isConnectionBroken(error: unknown): boolean {
  const type = typeOf(error);
  if (type === ErrorType.UNAVAILABLE || type === ErrorType.CANCELLED || type === ErrorType.NOT_LEADER) return true;
  return type === undefined && !isAnswer(error);
}
