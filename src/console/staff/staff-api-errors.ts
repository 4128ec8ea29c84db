/** Every error of the endpoints for programs. */
export const staffApiErrors = {
  invalid_request: { status: 400, message: 'A parameter is missing or malformed' },
  unauthorized: { status: 401, message: 'The token is missing, unknown, expired or revoked' },
  forbidden: { status: 403, message: 'The token does not have the scope of this endpoint' },
  method_not_allowed: { status: 405, message: 'This endpoint does not take this method; Allow names the one it takes' },
  not_found: { status: 404, message: 'There is nothing here' },
  internal_error: { status: 500, message: 'Something went wrong here; the request was not completed' },
  unavailable: { status: 503, message: 'A part of the service does not answer; try again' },
} as const;

export type StaffApiErrorCode = keyof typeof staffApiErrors;
