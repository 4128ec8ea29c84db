import { Counter, type Registry } from 'prom-client';

interface Definition<Label extends string> {
  help: string;
  labels?: readonly Label[];
  /** Its one label and all of its values: it begins at 0 for each, so that the first increment is visible. */
  known?: Readonly<Partial<Record<Label, readonly string[]>>>;
}

/** A counter of things as they happen. */
export function counter<Label extends string = never>(
  registers: Registry[],
  name: string,
  { help, labels = [], known }: Definition<Label>,
): Counter<Label> {
  const [label] = Object.keys(known ?? {}) as Label[];
  const labelNames = label === undefined ? [...labels] : [label];
  const made = new Counter<Label>({ name, help, labelNames, registers });
  if (label !== undefined)
    for (const value of known?.[label] ?? []) made.inc({ [label]: value } as Record<Label, string>, 0);
  return made;
}
