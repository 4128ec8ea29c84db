import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { root } from '../tidy/source-files.ts';
import { deployFile } from './compose-file.ts';

/** The manifests of deploy/kubernetes, as the tests read them. */

export interface Manifest {
  /** From `deploy` on. */
  file: string;
  value: unknown;
}

const isKustomization = (folder: string) => existsSync(join(root, 'deploy', folder, 'kustomization.yaml'));

/** The folders with a kustomization, from `deploy` on. */
export const kustomizations = readdirSync(join(root, 'deploy/kubernetes'), { recursive: true, encoding: 'utf8' })
  .map((path) => join('kubernetes', path))
  .filter(isKustomization)
  .sort();

/** Strict: there is no published schema of it, and a misspelt field would be ignored here. */
const kustomization = z.strictObject({
  apiVersion: z.enum(['kustomize.config.k8s.io/v1beta1', 'kustomize.config.k8s.io/v1alpha1']),
  kind: z.enum(['Kustomization', 'Component']),
  namespace: z.enum(['reeltally', 'reeltally-workers']).optional(),
  resources: z.array(z.string()).default([]),
  components: z.array(z.string()).default([]),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
  configMapGenerator: z
    .array(
      z.strictObject({
        name: z.string(),
        behavior: z.literal('merge').optional(),
        envs: z.array(z.string()).default([]),
        files: z.array(z.string()).default([]),
        options: z.strictObject({ disableNameSuffixHash: z.boolean() }).optional(),
      }),
    )
    .default([]),
  replicas: z.array(z.strictObject({ name: z.string(), count: z.int() })).default([]),
  patches: z
    .array(
      z.strictObject({ target: z.strictObject({ kind: z.string(), name: z.string().optional() }), patch: z.string() }),
    )
    .default([]),
});

export const readKustomization = (folder: string) =>
  kustomization.parse(parse(deployFile(`${folder}/kustomization.yaml`)));

/** Every object that the files of a kustomization hold. */
export function readManifests(folder: string): Manifest[] {
  const files = readdirSync(join(root, 'deploy', folder))
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort()
    .map((name) => join(folder, name));
  return files.flatMap((file) =>
    parseAllDocuments(deployFile(file)).map((document) => ({ file, value: document.toJS() as unknown })),
  );
}

const addition = z.strictObject({ op: z.literal('add'), path: z.string().startsWith('/'), value: z.unknown() });
type Tree = Record<string, unknown> | unknown[];

function add(tree: Tree, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length > 0) add((tree as Record<string, Tree>)[key]!, rest, value);
  else if (Array.isArray(tree)) tree.push(value);
  else tree[key] = value;
}

/** What the additions of a component make of an object that they are for. */
export function withComponent<Object extends { kind: string; metadata?: { name?: string } }>(
  folder: string,
  object: Object,
): Object {
  const changed = structuredClone(object);
  for (const { target, patch } of readKustomization(folder).patches) {
    if (target.kind !== object.kind || !new RegExp(`^(?:${target.name ?? '.*'})$`).test(object.metadata?.name ?? ''))
      continue;
    for (const { path, value } of z.array(addition).parse(parse(patch))) add(changed, path.slice(1).split('/'), value);
  }
  return changed;
}

/** The settings that a folder gives to every process. */
export function readSettings(folder: string): Record<string, string> {
  const lines = deployFile(`${folder}/settings.env`)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}
