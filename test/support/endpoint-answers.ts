import { expect } from 'vitest';
import { endpoints } from '../../src/http/endpoints.ts';
import { apiErrors, errorsOfEveryEndpoint } from '../../src/http/errors.ts';

/**
 * Every answer that any test gets is compared with what the reference says of its endpoint: exactly the fields of its schema,
 * and no error that is not listed there.
 */
export function expectListedAnswer(
  method: string,
  path: string,
  answer: { status: number; envelope: { data?: unknown; error?: { code: string } } },
): void {
  const endpoint = endpoints.find((each) => each.method === method && each.path === path.split('?')[0]);
  if (!endpoint) return;
  const { success, errors } = endpoint.reference;
  const { status, envelope } = answer;
  if (envelope.error) {
    expect([...errorsOfEveryEndpoint, ...errors]).toContain(envelope.error.code);
    expect(status).toBe(apiErrors[envelope.error.code as keyof typeof apiErrors].status);
  } else {
    expect(status).toBe(success.status);
    expect(success.data.safeParse(envelope.data)).toEqual({ success: true, data: envelope.data });
  }
}
