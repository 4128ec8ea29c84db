import type { DomainEvent } from '../../domain/parse-event.ts';
import type { AppendOutcome } from '../../ports/event-store.ts';
import type { Span, Tracer } from '../../ports/tracing.ts';
import type { Cause } from './event-metadata.ts';

interface Caused {
  event: DomainEvent;
  cause: Cause;
}

/**
 * Starts a span of the append for each command in it that is part of a trace. The events carry that span in their metadata, so
 * that work they lead to continues the trace. Called before `addMetadata`, whose hashes cover it.
 *
 * @returns the events with their span, and a function to call with the outcome
 */
export function traceAppend<Event extends Caused>(
  tracer: Tracer | undefined,
  stream: string,
  caused: readonly Event[],
): { traced: readonly Event[]; end: (outcome: AppendOutcome | 'failed') => void } {
  if (!tracer) return { traced: caused, end: () => undefined };
  const category = stream.slice(0, stream.indexOf('-'));
  const spans = new Map<Cause, Span>();
  for (const [cause, events] of Map.groupBy(caused, (each) => each.cause)) {
    if (cause.traceparent === undefined) continue;
    const span = tracer.start(`append ${category}`, {
      kind: 'client',
      parent: cause.traceparent,
      attributes: {
        'db.system.name': 'eventstoredb',
        'db.operation.name': 'append',
        'db.collection.name': category,
        'reeltally.event.types': events.map(({ event }) => event.type),
      },
    });
    spans.set(cause, span);
  }
  return {
    traced: caused.map((each) => {
      const span = spans.get(each.cause);
      return span ? { ...each, cause: { ...each.cause, traceparent: span.traceparent } } : each;
    }),
    end: (outcome) => {
      for (const span of spans.values()) span.end({ errorType: outcome === 'stored' ? undefined : outcome });
    },
  };
}
