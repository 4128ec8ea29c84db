import { ClientError, reasonOf, reasonWithAddress } from './client-error.ts';
import { pause } from './pause.ts';

/** The result of one request of the typed client. */
export interface Answer<Data> {
  data?: { data: Data };
  error?: unknown;
  response: Response;
}

export interface RetryLimits {
  /** How often a request is sent at most; 5 unless given. */
  attempts?: number;
  /** An answer that asks for a longer pause ends the retries; 30 unless given. A 429 may ask for up to an hour. */
  longestPauseSeconds?: number;
  signal?: AbortSignal;
  /** Told why nothing is sent for some seconds: the API asks for a pause, or does not answer. */
  onPause?: (paused: Pause) => void;
}

export interface Pause {
  seconds: number;
  /** A sentence without its full stop. */
  why: string;
}

const defaultAttempts = 5;
const defaultLongestPauseSeconds = 30;

/** Answers after which the same request may succeed; 504 is no answer of the API, but of a proxy before it. */
const passing = [429, 500, 502, 503, 504];

/** A platform that gives no metadata of a video says whether it would do so later. */
const mayPass = (error: unknown, { status }: Response): boolean =>
  passing.includes(status) && (error as { error?: { retryable?: boolean } } | undefined)?.error?.retryable !== false;

/**
 * Sends a request again where the API asks for it or cannot be reached, after the pause that it names. A download is charged
 * once only if each repetition carries the same `Idempotency-Key`.
 *
 * @throws {ClientError} with the code of the last answer, or `unreachable`
 */
export async function sendWithRetries<Data>(
  send: () => Promise<Answer<Data>>,
  limits: RetryLimits = {},
): Promise<Data> {
  const { attempts = defaultAttempts, longestPauseSeconds = defaultLongestPauseSeconds, signal, onPause } = limits;
  for (let attempt = 1; ; attempt += 1) {
    const { data, error, response } = await reach(send, limits);
    if (data) return data.data;
    const wantedSeconds = retryAfterSeconds(response) ?? attempt * 2;
    const isWorthIt = mayPass(error, response) && wantedSeconds <= longestPauseSeconds;
    const refusal = refusalOf(error, response);
    if (!isWorthIt || attempt === attempts) throw refusal;
    onPause?.({ seconds: wantedSeconds, why: refusal.message });
    await pause(wantedSeconds, signal);
  }
}

/**
 * Sends a request again where no connection can be made, or is lost.
 *
 * @throws {ClientError} `unreachable`
 */
export async function reach<Value>(
  send: () => Promise<Value>,
  { attempts = defaultAttempts, signal, onPause }: RetryLimits = {},
): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (failure) {
      // fetch throws this where there is no connection; any other error is one of the program.
      if (!(failure instanceof TypeError)) throw failure;
      const why = `the API does not answer: ${reasonWithAddress(failure)}`;
      if (attempt === attempts) throw new ClientError('unreachable', why, { cause: failure });
      onPause?.({ seconds: attempt, why });
      await pause(attempt, signal);
    }
  }
}

/** Codes of connections that were never made, so that nothing was sent. */
const neverMade =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_\w+|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_\w+)$/;

/** Tells whether a request may have been taken, though nobody answered it. @param failure what `fetch` has thrown */
export const mayBeTaken = (failure: unknown): boolean => !neverMade.test(reasonOf(failure));

/** @returns undefined where the answer does not say it in seconds */
export function retryAfterSeconds({ headers }: Response): number | undefined {
  const value = headers.get('Retry-After');
  return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** @param error the body of an answer: the API's envelope, unless a proxy has answered in its place */
export function refusalOf(error: unknown, { status }: Response): ClientError {
  const { code, message } = (error as { error?: { code?: string; message?: string } } | undefined)?.error ?? {};
  if (typeof code === 'string') return new ClientError(code, message ?? code);
  return new ClientError('unexpected_answer', `the answer is not one of the API, with status ${status}`);
}
