import { parser } from '@prometheus-io/lezer-promql';

/** What an expression asks of one metric. */
export interface Selected {
  metric: string;
  /** Labels that it matches, groups by or joins on. */
  labels: Set<string>;
  matchers: { label: string; isPattern: boolean; value: string }[];
}

/** Grafana replaces this name before it asks Prometheus. */
export const parsable = (expression: string): string => expression.replaceAll('$__rate_interval', '1m');

export interface ReadExpression {
  /** Where Prometheus' own grammar finds an error. */
  errors: string[];
  selected: Selected[];
}

interface Node {
  name: string;
  from: number;
  to: number;
  type: { isError: boolean };
  firstChild: Node | null;
  nextSibling: Node | null;
}

/** Reads a PromQL expression with the grammar that Prometheus' own pages use. */
export function readExpression(text: string): ReadExpression {
  const errors: string[] = [];
  const textOf = ({ from, to }: Node) => text.slice(from, to);
  const read = (node: Node): Selected[] => {
    if (node.type.isError) errors.push(`at ${node.from} of ${text}`);
    if (node.name === 'VectorSelector') return [readSelector(node, textOf)];
    const children = childrenOf(node);
    const selected = children.flatMap(read);
    // Of `by`, `without`, `on` and `ignoring`: the labels are those of everything that stands below.
    const grouping = children.flatMap((child) =>
      /^(?:AggregateModifier|MatchingModifierClause)$/.test(child.name) ? labelsIn(child, textOf) : [],
    );
    for (const { labels } of selected) for (const label of grouping) labels.add(label);
    return selected;
  };
  const selected = read(parser.parse(text).topNode);
  return { errors, selected };
}

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) children.push(child);
  return children;
}

const labelsIn = (node: Node, textOf: (node: Node) => string): string[] =>
  node.name === 'LabelName' ? [textOf(node)] : childrenOf(node).flatMap((child) => labelsIn(child, textOf));

function readSelector(node: Node, textOf: (node: Node) => string): Selected {
  const parts = childrenOf(node);
  const matchers = parts
    .filter(({ name }) => name === 'LabelMatchers')
    .flatMap(childrenOf)
    .map((matcher) => {
      const [label = '', operator = '', value = '""'] = childrenOf(matcher).map(textOf);
      return { label, isPattern: operator.endsWith('~'), value: JSON.parse(value) as string };
    });
  const [name] = parts.filter((part) => part.name === 'Identifier');
  return { metric: name ? textOf(name) : '', labels: new Set(matchers.map(({ label }) => label)), matchers };
}
