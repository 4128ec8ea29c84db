import { describe, expect, it } from 'vitest';
import { ClientError } from '../../src/client/client-error.ts';
import { sendWithRetries } from '../../src/client/with-retries.ts';

const success = { data: { data: 'done' }, response: new Response('', { status: 200 }) };

/** An answer of the API, which asks for no pause, or one that a proxy gives in its place. */
const answer = (status: number, code?: string, retryAfterSeconds = 0) => ({
  error: code === undefined ? '<html>' : { success: false, error: { code, message: `this is ${code}` } },
  response: new Response('', { status, headers: { 'Retry-After': String(retryAfterSeconds) } }),
});
const lost = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });

/** Gives these answers one after the other, the last again and again. */
function sender(...answers: (typeof success | ReturnType<typeof answer> | Error)[]) {
  let sent = 0;
  const send = async () => {
    const next = answers[Math.min(sent, answers.length - 1)]!;
    sent += 1;
    if (next instanceof Error) throw next;
    return next;
  };
  return { send, count: () => sent };
}

describe('sendWithRetries', () => {
  it.each([
    [429, 'rate_limited'],
    [500, 'internal_error'],
    [502, 'enqueue_failed'],
    [503, 'unavailable'],
    [504, undefined],
  ])('sends again after %d', async (status, code) => {
    const { send, count } = sender(answer(status, code), success);
    expect(await sendWithRetries(send)).toBe('done');
    expect(count()).toBe(2);
  });

  it.each([
    [400, 'invalid_request'],
    [401, 'unauthorized'],
    [402, 'overage_cap_reached'],
    [404, 'not_found'],
  ])('does not after %d, which something else must change first', async (status, code) => {
    const { send, count } = sender(answer(status, code));
    await expect(sendWithRetries(send)).rejects.toMatchObject({ code, message: `this is ${code}` });
    expect(count()).toBe(1);
  });

  it('does not where the platform would give nothing to the same request', async () => {
    const { response } = answer(502);
    const told = { code: 'metadata_unavailable', message: 'it is gone', retryable: false };
    const { send, count } = sender({ error: { success: false, error: told }, response });
    await expect(sendWithRetries(send)).rejects.toMatchObject({ code: 'metadata_unavailable' });
    expect(count()).toBe(1);
  });

  it('ends with the last answer after the last attempt', async () => {
    const { send, count } = sender(answer(503, 'unavailable'));
    await expect(sendWithRetries(send, { attempts: 3 })).rejects.toMatchObject({ code: 'unavailable' });
    expect(count()).toBe(3);
  });

  it('does not wait longer than it is worth to the caller', async () => {
    const { send, count } = sender(answer(429, 'rate_limited', 31));
    await expect(sendWithRetries(send)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(count()).toBe(1);
  });

  it('waits as long as the API asks', async () => {
    const { send } = sender(answer(429, 'rate_limited', 1), success);
    const begin = performance.now();
    await sendWithRetries(send);
    expect(performance.now() - begin).toBeGreaterThan(990);
  });

  it('stops waiting when it is told to', async () => {
    const stopping = new AbortController();
    const waiting = sendWithRetries(sender(answer(429, 'rate_limited', 29)).send, { signal: stopping.signal });
    stopping.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('says that an answer is not one of the API', async () => {
    const { send } = sender(answer(403));
    await expect(sendWithRetries(send)).rejects.toMatchObject({ code: 'unexpected_answer' });
  });

  it('sends again where there is no connection, and says in the end why', async () => {
    expect(await sendWithRetries(sender(lost, success).send)).toBe('done');
    const { send, count } = sender(lost);
    const failing = sendWithRetries(send, { attempts: 2 });
    await expect(failing).rejects.toBeInstanceOf(ClientError);
    await expect(failing).rejects.toMatchObject({
      code: 'unreachable',
      message: 'the API does not answer: ECONNREFUSED',
    });
    expect(count()).toBe(2);
  });

  it('passes on what is wrong with the program itself', async () => {
    await expect(sendWithRetries(sender(new RangeError('a fault')).send)).rejects.toThrow(RangeError);
  });
});
