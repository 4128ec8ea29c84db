/** One step of a trace, in OpenTelemetry's words. */
export interface Span {
  /** Names this span to whatever it leads to: W3C Trace Context, `00-{trace}-{span}-{flags}`. */
  readonly traceparent: string;
  /** @param errorType from a closed set, where the step failed */
  end(ending?: { errorType?: string | undefined; attributes?: SpanAttributes }): void;
}

type SpanAttributes = Readonly<Record<string, string | number | string[]>>;

/** Handed in only where traces are wanted. Attributes hold no secrets, no accounts and no addresses. */
export interface Tracer {
  start(name: string, options: SpanOptions): Span;
}

export interface SpanOptions {
  kind?: 'server' | 'client' | 'producer' | 'consumer';
  /** `traceparent` of what led here; without one, a trace begins. */
  parent?: string | undefined;
  attributes?: SpanAttributes;
}

/**
 * Does a piece of work as a span of its own, if there is a trace that it is part of.
 *
 * @param failureOf says of which kind a failure is that the work returns; what it throws is one anyway
 * @param work is given the `traceparent` for whatever it leads to
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
