import type { z } from 'zod';
import type { ApiErrorCode } from '../errors.ts';

/** The groups of endpoints, with what they are about. */
export const endpointTags = {
  Videos: 'Metadata of a video, its download, and what has become of it.',
  Account: 'Credits, usage, documents and keys of the account, and the list of its downloads.',
} as const;

/** Documentation of an endpoint for callers. The same schemas read its input, and check its answers in the tests. */
export interface EndpointReference {
  /** Name of the operation in generated clients. */
  operationId: string;
  tag: keyof typeof endpointTags;
  summary: string;
  /** Sentences; `code` stands in backticks. */
  description: string;
  query?: z.ZodObject;
  /** By the names that the reference shows. */
  headers?: z.ZodObject;
  body?: { schema: z.ZodType; required: boolean };
  success: {
    status: 200 | 201 | 202;
    description: string;
    /** Header fields beside those of every answer. */
    headers?: readonly 'Preference-Applied'[];
    data: z.ZodType;
  };
  /** Its errors beside those of every endpoint. A test compares them with what its code throws. */
  errors: readonly ApiErrorCode[];
}
