import { expect } from 'vitest';
import { type ApiClient, createApiClient } from '../../src/client/client.ts';
import { failureReasonNames } from '../../src/domain/failure-reasons.ts';
import { apiPrefix } from '../../src/http/endpoints.ts';
import { expectListedAnswer } from './endpoint-answers.ts';

export interface Answer {
  status: number;
  headers: Headers;
  /** `data` of a success. */
  data: Record<string, unknown>;
  /** `error.code`; undefined for a success. */
  code: string | undefined;
  message: string;
  text: string;
}

export interface Asked {
  key?: string;
  method?: string;
  /** An object is sent as JSON; text as it stands. */
  body?: object | string;
  headers?: Record<string, string>;
}

/**
 * Sends one request to the API, and checks what the contract says of every response: the envelope (§2.1), the content type,
 * the four headers (§4.6), and what the reference says of the endpoint.
 *
 * @param path below `/api/v1`
 */
export async function call(
  url: string,
  path: string,
  { key, method, body, headers = {} }: Asked = {},
): Promise<Answer> {
  const sent = method ?? (body === undefined ? 'GET' : 'POST');
  const response = await fetch(`${url}/api/v1${path}`, {
    method: sent,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (method !== 'HEAD') checkEnvelope(response, text);
  checkHeaders(response);
  const envelope = (text === '' ? {} : JSON.parse(text)) as {
    data?: Record<string, unknown>;
    error?: { code: string; message: string };
  };
  expectListedAnswer(sent, path, { status: response.status, envelope });
  return {
    status: response.status,
    headers: response.headers,
    data: envelope.data ?? {},
    code: envelope.error?.code,
    message: envelope.error?.message ?? '',
    text,
  };
}

/**
 * The typed client, with the same checks of every answer.
 *
 * @param isEarlier the service may be an earlier version, whose answers lack what was added since
 */
export function apiClient(url: string, key: string, { isEarlier = false } = {}): ApiClient {
  return createApiClient(url, key, {
    fetch: async (request) => {
      const response = await fetch(request);
      const text = await response.clone().text();
      checkEnvelope(response, text);
      checkHeaders(response);
      const { status } = response;
      const path = new URL(request.url).pathname.replace(apiPrefix, '');
      if (!isEarlier) expectListedAnswer(request.method, path, { status, envelope: JSON.parse(text) as object });
      return response;
    },
  });
}

/** @param outcome status and code of an error, such as `401 unauthorized` */
export async function expectError(asking: Promise<Pick<Answer, 'status' | 'code'>>, outcome: string): Promise<void> {
  const { status, code = '' } = await asking;
  expect(`${status} ${code}`).toBe(outcome);
}

function checkEnvelope(response: Response, text: string): void {
  expect(response.headers.get('content-type')).toBe('application/json');
  const envelope = JSON.parse(text) as unknown;
  if (response.ok) expect(envelope).toEqual({ success: true, data: expect.any(Object) as unknown });
  else {
    const { error } = envelope as { error: Record<string, unknown> };
    expect(envelope).toEqual({
      success: false,
      error: {
        code: expect.stringMatching(/^[a-z_]+$/) as unknown,
        message: expect.stringMatching(/./) as unknown,
        ...('reason' in error && {
          reason: expect.toBeOneOf(failureReasonNames) as unknown,
          retryable: expect.any(Boolean) as unknown,
        }),
      },
    });
    if ('reason' in error) expect(error['code']).toBe('metadata_unavailable');
  }
}

function checkHeaders({ headers }: Response): void {
  const number = (name: string) => {
    expect(headers.get(name), name).toMatch(/^\d+$/);
    return Number(headers.get(name));
  };
  expect(number('x-ratelimit-remaining')).toBeLessThanOrEqual(number('x-ratelimit-limit'));
  expect(number('x-ratelimit-reset')).toBeGreaterThanOrEqual(Math.floor(Date.now() / 1000) - 1);
  expect(number('x-ratelimit-reset')).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 3_601);
  number('x-credits-remaining');
}
