import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { startInstallation } from '../support/installation.ts';
import { type Service, startService } from '../support/service.ts';
import { type ReceivedSpan, type SpanReceiver, startSpanReceiver } from '../support/span-receiver.ts';
import { waitFor } from '../support/wait-for.ts';
import { printTrace, type TraceNode, traceTrees } from './trace-tree.ts';

let receiver: SpanReceiver;
/** All roles in one process. */
let service: Service;
let accountId: string;
let key: string;
beforeAll(async () => {
  receiver = await startSpanReceiver();
  service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, { postgres: 'of the run' });
  ({ accountId, key } = await service.openAccount('enterprise'));
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Names alone, as nested lists: what a trace looks like. */
type Shape = [string, ...Shape[]];
const shapeOf = ({ span, children }: TraceNode): Shape => [described(span), ...children.map(shapeOf)];

function described({ name, attributes }: ReceivedSpan): string {
  const types = attributes['reeltally.event.types'];
  return Array.isArray(types) ? `${name}: ${types.join(' ')}` : name;
}

/**
 * The trace of the download that was asked for since `begunMs`, once all of it has come: no span lacks the one that
 * led to it. A trace comes after its download has ended, so that the newest one received may be another's.
 */
async function downloadSince(begunMs: number): Promise<{ root: TraceNode; spans: ReceivedSpan[] }> {
  const isRoot = ({ name, parentSpanId, startMs }: ReceivedSpan) =>
    name.startsWith('POST') && parentSpanId === '' && startMs >= begunMs;
  return await waitFor(
    () => {
      const found = receiver.spans.find(isRoot);
      const spans = receiver.spans.filter(({ traceId }) => traceId === found?.traceId);
      const [root, ...others] = traceTrees(spans);
      const complete = others.length === 0 && spans.some((span) => described(span) === 'append job: JobCompleted');
      return root && complete && { root, spans };
    },
    { what: 'all spans of a download' },
  );
}

const wholeDownload: Shape = [
  'POST /api/v1/video/download',
  [
    'append usage: DownloadCreditDebited DownloadQueued',
    [
      'publish downloads.queued',
      [
        'process downloads.queued',
        ['claim', ['append job: JobClaimed']],
        ['append job: JobStarted'],
        ['download sample'],
        ['finish file'],
        ['store file'],
        ['append job: JobCompleted'],
      ],
    ],
  ],
];

describe('the trace of a download', () => {
  it('leads from the request over the event and the message to the file, in one process', async () => {
    const begunMs = Date.now();
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('bars') });
    await ended(service.url, key, token);
    const { root, spans } = await downloadSince(begunMs);
    console.log(printTrace(root));
    expect(shapeOf(root)).toEqual(wholeDownload);
    expect(spans.filter(({ failed }) => failed)).toEqual([]);
    expect(root.span).toMatchObject({
      kind: 'server',
      service: 'reeltally',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/v1/video/download',
        'http.response.status_code': 202,
      },
    });
    const secrets = [key, key.slice(0, 12), accountId, token, service.samplePlatformUrl ?? '', service.dataDirectory];
    expect(secrets.filter((secret) => receiver.text().includes(secret))).toEqual([]);
  });

  it('leads through the roles as processes of their own', async () => {
    await using installation = await startInstallation({ OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/` });
    const [api] = await Promise.all(
      (['api', 'projector', 'dispatcher', 'worker'] as const).map((role) => installation.startRole(role)),
    );
    const { key: ownKey } = await installation.openAccount('enterprise');
    const begunMs = Date.now();
    const { request_token: token } = await queue(api?.url ?? '', ownKey, { url: installation.sampleUrl('bars') });
    await ended(api?.url ?? '', ownKey, token);
    const { root, spans } = await downloadSince(begunMs);
    console.log(printTrace(root));
    expect(shapeOf(root)).toEqual(wholeDownload);
    const servicesOf = (start: string) =>
      new Set(spans.filter(({ name }) => name.startsWith(start)).map(({ service }) => service));
    expect(servicesOf('append usage')).toEqual(new Set(['reeltally-api']));
    expect(servicesOf('publish')).toEqual(new Set(['reeltally-dispatcher']));
    for (const step of ['process', 'claim', 'download', 'finish', 'store', 'append job'])
      expect(servicesOf(step), step).toEqual(new Set(['reeltally-worker']));
  });
});

describe('other requests and other ends', () => {
  it('go on in one trace over the attempts of a job, and name why one failed', async () => {
    const begunMs = Date.now();
    const { request_token: token } = await queue(service.url, key, { url: service.sampleUrl('flaky') });
    await ended(service.url, key, token);
    const { root, spans } = await downloadSince(begunMs);
    console.log(printTrace(root));
    const attempts = spans.filter(({ name }) => name.startsWith('process'));
    expect(attempts.length).toBeGreaterThan(1);
    const failed = spans.filter((span) => span.failed);
    expect(failed[0]).toMatchObject({ name: 'download sample', attributes: { 'error.type': 'platform_error' } });
    const released = spans.find((span) => described(span) === 'append job: JobReleased');
    const again = spans.filter(({ name }) => name.startsWith('publish')).at(-1);
    expect(again?.parentSpanId).toBe(released?.spanId);
  });

  it('are spans of the API alone, whoever asks, and take over nobody’s trace', async () => {
    const begunMs = Date.now();
    await fetch(`${service.url}/metrics`, { headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } });
    await call(service.url, '/nothing', { key });
    await call(service.url, '/credits', { key, headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` } });
    await call(service.url, '/credits', {});
    // Spans of the tests before it come later than their requests.
    const seen = () => receiver.spans.filter(({ kind, startMs }) => kind === 'server' && startMs >= begunMs);
    await waitFor(() => seen().length >= 2, { what: 'two spans' });
    expect(seen().map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
      ['GET /api/v1/credits', 200],
      ['GET /api/v1/credits', 401],
    ]);
    // A caller's mistake is none of the service.
    expect(seen().filter(({ failed }) => failed)).toEqual([]);
    expect(seen().map(({ parentSpanId }) => parentSpanId)).toEqual(['', '']);
  });
});
