import { z } from 'zod';
import type { JsonSchema } from './openapi-types.ts';

/** zod's schemas as schemas of the document; those with an id of their own are gathered and referred to. */
export class ReferenceSchemas {
  readonly named: Record<string, JsonSchema> = {};

  /** Input of a client: a field with a default may be left out. */
  ofInput(schema: z.ZodType): JsonSchema {
    return this.#gather(z.toJSONSchema(schema, { io: 'input' }));
  }

  /** Answer to a client. Fields may be added one day, so the document does not forbid them; the tests do. */
  ofAnswer(schema: z.ZodType): JsonSchema {
    return this.#gather(
      z.toJSONSchema(schema, {
        io: 'output',
        override: ({ jsonSchema }) => {
          delete jsonSchema.additionalProperties;
          // Every integer of JavaScript has this limit; it says nothing about the field.
          if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        },
      }),
    );
  }

  #gather(converted: object): JsonSchema {
    const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/');
    const {
      $schema: _dialect,
      $defs = {},
      id,
      ...schema
    } = JSON.parse(text) as JsonSchema & { $schema?: string; $defs?: Record<string, JsonSchema>; id?: string };
    const named = { ...$defs, ...(id !== undefined && { [id]: schema }) };
    for (const [name, definition] of Object.entries(named)) {
      const { id: _id, ...rest } = definition as JsonSchema & { id?: string };
      this.named[name] = rest;
    }
    return id === undefined ? schema : { $ref: `#/components/schemas/${id}` };
  }
}
