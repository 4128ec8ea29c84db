import type { z } from 'zod';

/** The events of one kind of stream, each with its type and its data, from their schemas. */
export type EventOf<Schemas extends Readonly<Record<string, z.ZodType>>> = {
  [Type in keyof Schemas]: { type: Type; data: z.infer<Schemas[Type]> };
}[keyof Schemas];
