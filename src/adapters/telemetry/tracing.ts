import {
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as OpenTelemetryTracer,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { withDeadline } from '../../async/deadline.ts';
import type { Tracer } from '../../ports/tracing.ts';

export interface TracingOptions {
  /** Address of a collector that takes OTLP over HTTP, without `/v1/traces`. */
  endpoint: string;
  serviceName: string;
  version: string;
  /** Share of sampled traces among those that begin here, from 0 to 1. Continued traces keep their decision. */
  sampledShare: number;
  logger: Logger;
}

export type Tracing = ReturnType<typeof startTracing>;

const exportTimeoutMs = 3_000;
const exportEveryMs = 1_000;
const closeTimeoutMs = 2_000;

const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** Sends traces to an OpenTelemetry collector. Nothing waits for it, and at most 2048 spans are queued. */
export function startTracing(options: TracingOptions) {
  const { endpoint, serviceName, version, sampledShare, logger } = options;
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: exportTimeoutMs });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampledShare) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reporting(exporter, logger),
        scheduledDelayMillis: exportEveryMs,
        exportTimeoutMillis: 2 * exportTimeoutMs,
      }),
    ],
  });
  return {
    tracer: createTracer(provider.getTracer('reeltally', version), logger),
    /** Sends the spans that have ended. A collector that is away does not delay the shutdown. */
    close: async () => {
      // The reason why spans could not be sent has been logged where it happened.
      const shutdown = provider.shutdown().catch(() => undefined);
      await withDeadline(shutdown, closeTimeoutMs, () => undefined);
    },
  };
}

function createTracer(tracer: OpenTelemetryTracer, logger: Logger): Tracer {
  return {
    start: (name, { kind, parent, attributes = {} }) => {
      const options = { kind: kind ? kinds[kind] : SpanKind.INTERNAL, attributes };
      const span = tracer.startSpan(name, options, contextOf(parent));
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end: ({ errorType, attributes: more } = {}) => {
          // A failure of tracing must not change the outcome of the traced work.
          try {
            if (more) span.setAttributes(more);
            if (errorType !== undefined) {
              span.setAttribute('error.type', errorType);
              span.setStatus({ code: SpanStatusCode.ERROR });
            }
            span.end();
          } catch (error) {
            logger.warn({ err: error }, 'a span could not be ended');
          }
        },
      };
    },
  };
}

function contextOf(parent: string | undefined): Context {
  const parsed = parent === undefined ? null : parseTraceParent(parent);
  return parsed ? trace.setSpanContext(ROOT_CONTEXT, { ...parsed, isRemote: true }) : ROOT_CONTEXT;
}

/** Logs one line when the collector stops taking spans, and one when it takes them again. */
function reporting(exporter: SpanExporter, logger: Logger): SpanExporter {
  let away = false;
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        const failed = result.code !== ExportResultCode.SUCCESS;
        if (failed && !away) {
          logger.warn({ reason: result.error?.message }, 'traces cannot be sent to their collector and are dropped');
        }
        if (!failed && away) logger.info('traces are sent to their collector again');
        away = failed;
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
