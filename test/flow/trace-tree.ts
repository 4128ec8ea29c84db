import type { ReceivedSpan } from '../support/span-receiver.ts';

/** A span with what came of it, in the order of their beginnings. */
export interface TraceNode {
  span: ReceivedSpan;
  children: TraceNode[];
}

/** The trees that spans make; a span whose parent is not among them is a root. */
export function traceTrees(spans: readonly ReceivedSpan[]): TraceNode[] {
  const nodes = new Map(spans.map((span) => [span.spanId, { span, children: [] as TraceNode[] }]));
  const roots: TraceNode[] = [];
  for (const node of [...nodes.values()].sort((one, other) => one.span.startMs - other.span.startMs))
    (nodes.get(node.span.parentSpanId)?.children ?? roots).push(node);
  return roots;
}

const telling = ['reeltally.event.types', 'http.response.status_code', 'reeltally.refusal', 'error.type'];

/** For a person: each span with its service, when it began after the root, and how long it took. */
export function printTrace(root: TraceNode): string {
  const beganMs = root.span.startMs;
  const lines: string[] = [`trace ${root.span.traceId}`];
  const print = ({ span, children }: TraceNode, indent: string, branch: string) => {
    const told = telling.flatMap((attribute) => span.attributes[attribute] ?? []).map(String);
    const name = `${indent}${branch}${span.name}${told.length === 0 ? '' : ` (${told.join(', ')})`}`;
    const after = `+${(span.startMs - beganMs).toFixed(1)} ms`.padStart(12);
    const took = `${(span.endMs - span.startMs).toFixed(1)} ms`.padStart(11);
    lines.push(`${after} ${took}  ${span.service.padEnd(20)} ${name}`);
    const below = branch === '' ? indent : indent + (branch === '└─ ' ? '   ' : '│  ');
    children.forEach((child, index) => print(child, below, index === children.length - 1 ? '└─ ' : '├─ '));
  };
  print(root, '', '');
  return lines.join('\n');
}
