import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTracing } from '../../../src/adapters/telemetry/tracing.ts';
import { inSpan } from '../../../src/ports/tracing.ts';
import { rememberingLogger, silent } from '../../projections/read-models-under-test.ts';
import { listen } from '../../support/listen.ts';
import { atMostMs } from '../../support/proof-scale.ts';
import { type SpanReceiver, startSpanReceiver } from '../../support/span-receiver.ts';
import { waitFor } from '../../support/wait-for.ts';

const settings = { serviceName: 'test', version: '1.2.3', sampledShare: 1, logger: silent };

let receiver: SpanReceiver;
beforeEach(async () => {
  receiver = await startSpanReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

describe('spans', () => {
  it('are sent at the end, each with what led to it', async () => {
    const { tracer, close } = startTracing({ ...settings, endpoint: receiver.url });
    const root = tracer.start('root', { kind: 'server', attributes: { number: 1, words: ['a', 'b'] } });
    const child = tracer.start('child', { parent: root.traceparent });
    child.end({ errorType: 'timed_out', attributes: { more: 'later' } });
    root.end();
    await close();
    const [second, first] = receiver.spans;
    expect(first).toMatchObject({ name: 'root', kind: 'server', service: 'test', parentSpanId: '', failed: false });
    expect(first?.attributes).toEqual({ number: 1, words: ['a', 'b'] });
    expect(root.traceparent).toBe(`00-${first?.traceId ?? ''}-${first?.spanId ?? ''}-01`);
    expect(second).toMatchObject({ name: 'child', kind: 'internal', parentSpanId: first?.spanId, failed: true });
    expect(second?.attributes).toEqual({ more: 'later', 'error.type': 'timed_out' });
    expect(second?.traceId).toBe(first?.traceId);
  });

  it('begin a trace where what led to them is none', async () => {
    const { tracer, close } = startTracing({ ...settings, endpoint: receiver.url });
    for (const parent of [undefined, '', 'nonsense', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`])
      tracer.start('root', { parent }).end();
    await close();
    expect(receiver.spans.map(({ parentSpanId }) => parentSpanId)).toEqual(['', '', '', '']);
    expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(4);
  });

  it('of the share that is not wanted are not sent, and neither is what follows them', async () => {
    const unwanted = startTracing({ ...settings, sampledShare: 0, endpoint: receiver.url });
    const root = unwanted.tracer.start('root', {});
    expect(root.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    root.end();
    const wanted = startTracing({ ...settings, endpoint: receiver.url });
    wanted.tracer.start('child', { parent: root.traceparent }).end();
    await Promise.all([unwanted.close(), wanted.close()]);
    expect(receiver.spans).toEqual([]);
  });
});

describe('work in a span', () => {
  it('gives what it gives, and says of which kind its failure is', async () => {
    const { tracer, close } = startTracing({ ...settings, endpoint: receiver.url });
    const root = tracer.start('root', {});
    const parent = root.traceparent;
    const failureOf = (answer: string) => (answer === 'no' ? 'refused' : undefined);
    expect(await inSpan(tracer, { name: 'one', parent, failureOf }, async () => 'yes')).toBe('yes');
    expect(await inSpan(tracer, { name: 'two', parent, failureOf }, async () => 'no')).toBe('no');
    const thrown = inSpan(tracer, { name: 'three', parent }, () => Promise.reject(new TypeError('secret')));
    await expect(thrown).rejects.toThrow('secret');
    await close();
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['one', undefined],
      ['two', 'refused'],
      ['three', 'TypeError'],
    ]);
    expect(receiver.text()).not.toContain('secret');
  });

  it('without a tracer, or outside of a trace, is the work alone', async () => {
    const { tracer, close } = startTracing({ ...settings, endpoint: receiver.url });
    const given = async (traceparent: string | undefined) => traceparent;
    expect(await inSpan(undefined, { name: 'one', parent: 'handed on' }, given)).toBe('handed on');
    expect(await inSpan(tracer, { name: 'two' }, given)).toBeUndefined();
    await close();
    expect(receiver.spans).toEqual([]);
  });
});

describe('a collector', () => {
  it('that is away costs a line of the log, and does not hold up the end', async () => {
    const { logger, text } = rememberingLogger();
    const away = receiver.url;
    await receiver[Symbol.asyncDispose]();
    receiver = await startSpanReceiver();
    const { tracer, close } = startTracing({ ...settings, logger, endpoint: away });
    for (let count = 0; count < 3_000; count += 1) tracer.start('lost', {}).end();
    await waitFor(() => text() !== '', { what: 'a line of the log' });
    const startedMs = performance.now();
    await close();
    expect(performance.now() - startedMs).toBeLessThan(atMostMs(4_000));
    expect(text().match(/traces cannot be sent/g)).toHaveLength(1);
  });

  it('that takes nothing is told once', async () => {
    const refusing = createServer((request, response) => {
      request.resume();
      response.writeHead(400).end();
    });
    const { port, close: closeCollector } = await listen(refusing);
    const { logger, text } = rememberingLogger();
    const { tracer, close } = startTracing({ ...settings, logger, endpoint: `http://127.0.0.1:${port}` });
    // More than fit into one message to the collector.
    for (let count = 0; count < 1_500; count += 1) tracer.start('refused', {}).end();
    await close();
    await closeCollector();
    expect(text().match(/traces cannot be sent/g)).toHaveLength(1);
  });
});
