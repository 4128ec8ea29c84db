/** The values that fields of events may have, and the groups of fields that form a part of an event. */

/** A field, or a part, of an event that does not match its schema. */
export interface WrongField {
  /** Path from the value that was checked: empty for the value itself, else such as `.terms.plan`. */
  path: string;
  /** The field is unknown; all fields of the schema are there and match. */
  isSurplus: boolean;
}

/** Checks a value. A field with this schema has the type `Value`. */
export interface Schema<Value> {
  (value: unknown): WrongField | undefined;
  /** For the compiler only. */
  readonly type?: Value;
}

export type ValueOf<Of> = Of extends Schema<infer Value> ? Value : never;

const wrong: WrongField = { path: '', isSurplus: false };

function schema<Value>(matches: (value: unknown) => boolean): Schema<Value> {
  return (value) => (matches(value) ? undefined : wrong);
}

const instantFormat = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A text that is not empty. */
export const text = schema<string>((value) => typeof value === 'string' && value !== '');
/** A whole number from 0 on. */
export const count = schema<number>((value) => Number.isSafeInteger(value) && (value as number) >= 0);
/** A UTC time with milliseconds, such as `2026-11-21T12:00:00.000Z`. */
export const instant = schema<string>((value) => typeof value === 'string' && instantFormat.test(value));
export const flag = schema<boolean>((value) => typeof value === 'boolean');
/** A list of ids, each once. */
export const ids = schema<readonly string[]>(
  (value) =>
    Array.isArray(value) &&
    value.every((id) => typeof id === 'string' && id !== '') &&
    new Set(value).size === value.length,
);
/** Present, but checked elsewhere or not at all. */
export const anything = schema<unknown>((value) => value !== undefined);

export function listOf<Value>(inner: Schema<Value>): Schema<readonly Value[]> {
  return (value) => {
    if (!Array.isArray(value)) return wrong;
    for (const [index, each] of value.entries()) {
      const found = inner(each);
      if (found) return { path: `.${String(index)}${found.path}`, isSurplus: found.isSurplus };
    }
    return undefined;
  };
}

export function nullable<Value>(inner: Schema<Value>): Schema<Value | null> {
  return (value) => (value === null ? undefined : inner(value));
}

export function optional<Value>(inner: Schema<Value>): Schema<Value | undefined> {
  return (value) => (value === undefined ? undefined : inner(value));
}

/** Fields that are missing or wrong are found before those that are unknown. */
export function part<Fields extends Record<string, Schema<unknown>>>(
  fields: Fields,
): Schema<{ [Name in keyof Fields]: ValueOf<Fields[Name]> }> {
  const schemas = Object.entries(fields);
  return (value) => {
    if (typeof value !== 'object' || value === null) return wrong;
    const values = value as Record<string, unknown>;
    let surplus: WrongField | undefined;
    for (const [name, inner] of schemas) {
      const found = inner(values[name]);
      if (!found) continue;
      const named = { path: `.${name}${found.path}`, isSurplus: found.isSurplus };
      if (!named.isSurplus) return named;
      surplus ??= named;
    }
    for (const name in value) if (!Object.hasOwn(fields, name)) surplus ??= { path: `.${name}`, isSurplus: true };
    return surplus;
  };
}
