import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { accountEventSchemas } from '../../src/domain/account-events.ts';
import { auditEventSchemas } from '../../src/domain/audit-events.ts';
import { correctionEventSchemas } from '../../src/domain/correction-events.ts';
import { jobEventSchemas } from '../../src/domain/download-job-events.ts';
import { failureReasonNames } from '../../src/domain/failure-reasons.ts';
import { invoiceEventSchemas, invoiceLine } from '../../src/domain/invoice-events.ts';
import { issuerEventSchemas } from '../../src/domain/issuer-events.ts';
import { eventMetadata } from '../../src/domain/parse-event.ts';
import { planTerms, terms } from '../../src/domain/plans.ts';
import { staffEventSchemas } from '../../src/domain/staff-events.ts';
import { treeHeadEventSchemas } from '../../src/domain/tree-head-events.ts';
import { usageEventSchemas } from '../../src/domain/usage-events.ts';
import { codeIn, sections, tableOf } from './markdown.ts';

const page = 'docs/events.md';
const streams: [string, Readonly<Record<string, z.ZodType>>][] = [
  ['Stream `account-{account_id}`', accountEventSchemas],
  ['Stream `usage-{account_id}-{yyyymmdd}`', usageEventSchemas],
  ['Stream `job-{token}`', jobEventSchemas],
  ['Stream `invoices-{account_id}`', invoiceEventSchemas],
  ['Stream `corrections-{account_id}`', correctionEventSchemas],
  ['Stream `staff-{staff_id}`', staffEventSchemas],
  ['Stream `issuer`', issuerEventSchemas],
  ['Stream `audit-acknowledgements`', auditEventSchemas],
  ['Stream `tree-heads`', treeHeadEventSchemas],
];
const events = streams.flatMap(([, schemas]) => Object.entries(schemas));

interface Property {
  type?: string;
  /** To what holds any JSON. */
  $ref?: string;
  const?: string;
  enum?: string[];
  properties?: Record<string, Property>;
  anyOf?: Property[];
  oneOf?: Property[];
}

interface Field {
  name: string;
  type: string;
  /** Where only certain values may stand: which. */
  values: string[];
}

const propertiesOf = (schema: z.ZodType) => z.toJSONSchema(schema) as Property;

const fieldNames = (property: Property) => Object.keys(property.properties ?? {}).join();
/** The page describes these once, and names them where they stand. */
const described = new Map([
  [fieldNames(propertiesOf(terms)), 'terms'],
  [fieldNames(propertiesOf(planTerms)), 'plan terms'],
]);

function fieldsOf(property: Property, prefix = ''): Field[] {
  return Object.entries(property.properties ?? {}).flatMap(([name, inner]) => fieldsOfOne(prefix + name, inner));
}

function fieldsOfOne(name: string, property: Property): Field[] {
  const known = described.get(fieldNames(property));
  if (known !== undefined) return [{ name, type: known, values: [] }];
  if (property.properties) return fieldsOf(property, `${name}.`);
  // Personal data is an object, or null once it was erased.
  const personal = name === 'personal' ? property.anyOf?.find(({ properties }) => properties) : undefined;
  if (personal) return fieldsOf(personal, `${name}.`);
  if (property.oneOf) return merge(property.oneOf.flatMap((variant) => fieldsOfOne(name, variant)));
  if (property.$ref !== undefined) return [{ name, type: 'any', values: [] }];
  const types = (property.anyOf ?? [property]).map(({ type }) => type ?? 'string');
  const values = property.enum ?? (property.const === undefined ? [] : [property.const]);
  return [{ name, type: types.join(' or '), values }];
}

/** Fields of the same name in several forms of an object are one row of the page. */
function merge(fields: readonly Field[]): Field[] {
  const byName = new Map<string, Field>();
  for (const field of fields) {
    byName.set(field.name, { ...field, values: [...(byName.get(field.name)?.values ?? []), ...field.values] });
  }
  return [...byName.values()];
}

function expectDescribed(rows: readonly Record<string, string>[], schema: z.ZodType): void {
  const { oneOf, ...property } = propertiesOf(schema);
  const fields = oneOf ? merge(oneOf.flatMap((variant) => fieldsOf(variant))) : fieldsOf(property);
  expect(rows.map((row) => ({ name: codeIn(row['field']), type: row['type'] }))).toEqual(
    fields.map(({ name, type }) => ({ name, type })),
  );
  for (const [index, { name, values }] of fields.entries()) {
    const meaning = rows[index]?.['meaning'] ?? '';
    expect(meaning, name).not.toBe('');
    // The reasons for which a download fails have a page of their own.
    const own = values.filter((value) => !failureReasonNames.some((reason) => reason === value));
    expect(own.filter((value) => !meaning.includes(`\`${value}\``))).toEqual([]);
    if (own.length < values.length) expect(meaning).toContain('errors.md#why-a-download-fails');
  }
}

describe('docs/events.md', () => {
  it('has every event under the heading of its stream, and no other', () => {
    const titles = sections(page).map(({ title }) => title);
    const [firstStream] = streams;
    expect(titles.slice(titles.indexOf(firstStream![0]))).toEqual(
      streams.flatMap(([stream, schemas]) => [stream, ...Object.keys(schemas)]),
    );
  });

  it.each(events)('describes every field of %s, and says when it is written', (type, schema) => {
    expectDescribed(tableOf(page, type), schema);
    expect(sections(page).find(({ title }) => title === type)?.text[0]).toMatch(/\w/);
  });

  it.each(events)('has an example of %s that the schema reads', (type, schema) => {
    const [example, ...more] = sections(page).find(({ title }) => title === type)?.code ?? [];
    expect(more).toEqual([]);
    const parsed = schema.safeParse(JSON.parse(example?.text ?? '') as unknown);
    expect(parsed.success ? '' : z.prettifyError(parsed.error)).toBe('');
  });

  it('describes the metadata, with an example', () => {
    expectDescribed(tableOf(page, 'Metadata'), eventMetadata);
    const example = sections(page).find(({ title }) => title === 'Metadata')?.code[0]?.text ?? '';
    expect(eventMetadata.safeParse(JSON.parse(example) as unknown)).toMatchObject({ success: true });
  });

  it('describes every field of the lines of an invoice', () => {
    expectDescribed(tableOf(page, 'Invoice lines'), invoiceLine);
  });

  it('describes the terms', () => {
    expectDescribed(tableOf(page, 'Terms'), z.strictObject({ ...terms.shape }));
  });
});
