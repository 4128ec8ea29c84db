import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../tidy/source-files.ts';

/** The files of deploy/, as the tests read them. */
export const deployFile = (name: string): string => readFileSync(join(root, 'deploy', name), 'utf8');

const names = z.union([z.array(z.string()), z.record(z.string(), z.unknown()).transform((map) => Object.keys(map))]);

const service = z.object({
  image: z.string(),
  build: z.object({ target: z.string() }).optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
  scale: z.string().optional(),
  profiles: z.array(z.string()).default([]),
  env_file: z.union([z.string(), z.array(z.string())]).optional(),
  environment: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  networks: names.default([]),
  ports: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  ulimits: z.record(z.string(), z.number()).default({}),
  cap_add: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  mem_limit: z.string().optional(),
  restart: z.string().optional(),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.string(), required: z.boolean().optional() }))
    .default({}),
});

const compose = z.object({
  services: z.record(z.string(), service),
  networks: z.record(z.string(), z.object({ internal: z.boolean().default(false) })),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

export const composeFile = () => compose.parse(parse(deployFile('compose.yaml'), { merge: true }));
