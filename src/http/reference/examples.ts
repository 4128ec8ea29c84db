import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';

/** One request and its answer, as a test got it; what differs from run to run is replaced by fixed values. */
const example = z.strictObject({
  summary: z.string(),
  request: z.strictObject({
    method: z.enum(['GET', 'POST']),
    path: z.string(),
    query: z.record(z.string(), z.string()).optional(),
    body: z.record(z.string(), z.unknown()).optional(),
  }),
  response: z.strictObject({
    status: z.int(),
    headers: z.record(z.string(), z.string()),
    body: z.record(z.string(), z.unknown()),
  }),
});

export type Example = z.infer<typeof example> & { name: string };

export const examplesDirectory = new URL('../../../docs/examples/', import.meta.url);

/** All of them, by name: `operation.status-what.json`. @throws {z.ZodError} for a file of another form */
export function readExamples(): Example[] {
  const files = readdirSync(examplesDirectory).filter((name) => name.endsWith('.json'));
  return files.sort().map((file) => {
    const content: unknown = JSON.parse(readFileSync(new URL(file, examplesDirectory), 'utf8'));
    return { name: file.slice(0, -'.json'.length), ...example.parse(content) };
  });
}
