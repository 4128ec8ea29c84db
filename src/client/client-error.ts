interface About {
  requestToken?: string | undefined;
  hasFailed?: boolean;
  idempotencyKey?: string;
  cause?: unknown;
}

/** A call of the client that came to nothing. The message is a sentence for people. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  /**
   * The API's own code, such as `overage_cap_reached`; why a download failed, such as `private_video`; or the client's own:
   * `unreachable`, `unexpected_answer`, `not_writable`, `transfer_failed`, `interrupted`.
   */
  readonly code: string;
  /** The token of a download that was queued, and therefore charged, before the error. */
  readonly requestToken: string | undefined;
  /** The service could not make the file, so that its status will never link to one. */
  readonly hasFailed: boolean;
  /** The `Idempotency-Key` of a request to queue whose outcome is not known: repeated with it, the download is charged once. */
  readonly idempotencyKey: string | undefined;

  constructor(code: string, message: string, { requestToken, hasFailed = false, idempotencyKey, cause }: About = {}) {
    super(message, { cause });
    this.code = code;
    this.requestToken = requestToken;
    this.hasFailed = hasFailed;
    this.idempotencyKey = idempotencyKey;
  }
}

/** An error in one line for people; for a download that is or may be charged, with the way to its file. */
export function textOf({ message, code, requestToken, hasFailed, idempotencyKey }: ClientError): string {
  const text = `${message} (${code})`;
  if (idempotencyKey !== undefined)
    return `${text}. The download may be charged: the same command with --idempotency-key ${idempotencyKey} goes on with it`;
  if (requestToken === undefined) return text;
  const withToken = `${text}; request token ${requestToken}`;
  if (hasFailed) return withToken;
  return `${withToken}. The download is charged: GET /api/v1/video/status?token=${requestToken} answers with a link to its file`;
}

/** The reason for which a connection ended: the system's code, or else the message. */
export function reasonOf(failure: unknown): string {
  const { cause, code, message } = failure as { cause?: { code?: string }; code?: string; message?: string };
  return cause?.code ?? code ?? message ?? String(failure);
}

/** The same, with the address and port, or the name, that could not be reached, where the system tells it. */
export function reasonWithAddress(failure: unknown): string {
  const { cause } = failure as { cause?: SystemFailure & { errors?: SystemFailure[] } };
  const { hostname, address, port } = cause?.errors?.[0] ?? cause ?? {};
  const where = hostname ?? (address !== undefined && port !== undefined ? `${address}:${String(port)}` : undefined);
  return where === undefined ? reasonOf(failure) : `${reasonOf(failure)} at ${where}`;
}

interface SystemFailure {
  hostname?: string;
  address?: string;
  port?: number;
}
