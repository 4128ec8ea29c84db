import { registerHooks } from 'node:module';

/** What is loaded for the service in the place of modules of SQL, and of a library. */
const queries = new URL('./replaced-queries.ts', import.meta.url).href;
const replacements = new Map([
  ...[
    'document-mails',
    'api-keys',
    'work-lists/kept-files',
    'work-lists/mail-claims',
    'usage-warnings',
    'corrections',
    'credits',
    'work-lists/pending-void-gate',
    'work-lists/due-periods',
    'work-lists/service-failures',
    'work-lists/unfinished-jobs',
    'runner/checkpoints',
    'runner/resume',
  ].map((name) => [new URL(`../../projections/${name}.ts`, import.meta.url).href, queries] as const),
  ['node:fs/promises', new URL('./no-directories.ts', import.meta.url).href] as const,
  [import.meta.resolve('lru-cache'), new URL('./small-lru-cache.ts', import.meta.url).href] as const,
]);
const service = new URL('../../src/', import.meta.url).href;

/** A small change of one source file, made as it is loaded. */
export interface Edit {
  file: string;
  replace: string;
  by: string;
}

/** @throws where a text to replace is not in its file exactly once */
export function applyEdit(source: string, { file, replace, by }: Edit): string {
  const count = source.split(replace).length - 1;
  if (count !== 1) throw new Error(`${file} has ${String(count)} times what is to be replaced: ${replace}`);
  return source.replace(replace, () => by);
}

/** Replaces modules from now on, and edits the source files of a planted bug. */
export function hookModules(edits: readonly Edit[]): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const replacement = context.parentURL?.startsWith(service) ? replacements.get(resolved.url) : undefined;
      return replacement === undefined ? resolved : next(replacement, context);
    },
  });
  editSources(edits);
}

/** Edits source files as they are loaded from now on. */
export function editSources(edits: readonly Edit[]): void {
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      const ofFile = edits.filter(({ file }) => url.endsWith(`/${file}`));
      if (ofFile.length === 0) return loaded;
      return { ...loaded, source: ofFile.reduce(applyEdit, Buffer.from(loaded.source as Uint8Array).toString()) };
    },
  });
}
