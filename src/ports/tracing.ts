/** One step of a trace, in OpenTelemetry's words. */
export interface Span {
  /** Identifies this span to the spans that continue it: W3C Trace Context, `00-{trace}-{span}-{flags}`. */
  readonly traceparent: string;
  /** @param errorType of a failed step, from a closed set */
  end(ending?: { errorType?: string | undefined; attributes?: SpanAttributes }): void;
}

type SpanAttributes = Readonly<Record<string, string | number | string[]>>;

/** Given only if traces are wanted. Attributes hold no secrets, no accounts and no addresses. */
export interface Tracer {
  start(name: string, options: SpanOptions): Span;
}

export interface SpanOptions {
  kind?: 'server' | 'client' | 'producer' | 'consumer';
  /** `traceparent` of the span that led here; without one, a trace begins. */
  parent?: string | undefined;
  attributes?: SpanAttributes;
}

/**
 * Runs work in a span of its own, if it is part of a trace.
 *
 * @param failureOf the error type of a result that is a failure; an error that is thrown always is one
 * @param work gets the `traceparent` that its own spans continue
 */
export async function inSpan<Result>(
  tracer: Tracer | undefined,
  {
    name,
    failureOf,
    ...options
  }: SpanOptions & { name: string; failureOf?: (result: NoInfer<Result>) => string | undefined },
  work: (traceparent: string | undefined) => Promise<Result>,
): Promise<Result> {
  if (!tracer || options.parent === undefined) return await work(options.parent);
  const span = tracer.start(name, options);
  try {
    const result = await work(span.traceparent);
    span.end({ errorType: failureOf?.(result) });
    return result;
  } catch (error) {
    span.end({ errorType: error instanceof Error ? error.name : 'Error' });
    throw error;
  }
}
