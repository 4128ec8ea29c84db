import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { listen } from './listen.ts';

export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for the root of a trace. */
  parentSpanId: string;
  kind: string;
  /** `service.name` of the process that sent it. */
  service: string;
  attributes: Readonly<Record<string, unknown>>;
  failed: boolean;
  startMs: number;
  endMs: number;
}

/** A collector of traces: OTLP over HTTP, in JSON, as `opentelemetry-proto` defines it. */
export interface SpanReceiver extends AsyncDisposable {
  url: string;
  spans: ReceivedSpan[];
  /** Everything that was sent, as it came. */
  text: () => string;
}

interface Value {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: Value[] };
}

interface Attribute {
  key: string;
  value: Value;
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        kind: number;
        attributes: Attribute[];
        status: { code?: number };
        startTimeUnixNano: string;
        endTimeUnixNano: string;
      }[];
    }[];
  }[];
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  let received = '';
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end();
      return;
    }
    void json(request).then((body) => {
      received += JSON.stringify(body);
      spans.push(...readSpans(body as ExportRequest));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const { port, close } = await listen(server);
  return { url: `http://127.0.0.1:${port}`, spans, text: () => received, [Symbol.asyncDispose]: close };
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];
const errorStatus = 2;

function readSpans({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        kind: kinds[span.kind] ?? String(span.kind),
        service: String(attributesOf(resource.attributes)['service.name']),
        attributes: attributesOf(span.attributes),
        failed: span.status.code === errorStatus,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1000n) / 1000,
      })),
    ),
  );
}

function attributesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Value): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(valueOf);
  return value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue;
}
