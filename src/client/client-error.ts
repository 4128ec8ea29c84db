/** A call of the client that came to nothing. The message is a sentence for people. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  /**
   * The API's own code, such as `overage_cap_reached`; why a download failed, such as `private_video`; or the client's own:
   * `unreachable`, `unexpected_answer`, `not_writable`, `transfer_failed`.
   */
  readonly code: string;
  /** The token of a download that was queued, and therefore charged, before the error. */
  readonly requestToken: string | undefined;

  constructor(code: string, message: string, { requestToken, cause }: { requestToken?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.code = code;
    this.requestToken = requestToken;
  }
}

/** The reason for which a connection ended: the system's code, or else the message. */
export function reasonOf(failure: unknown): string {
  const { cause, code, message } = failure as { cause?: { code?: string }; code?: string; message?: string };
  return cause?.code ?? code ?? message ?? String(failure);
}
