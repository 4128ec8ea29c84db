import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { importsOf, root, sourceFiles } from './source-files.ts';

const ports = ['ports', 'log-position', 'billing-ports', 'video-ports'].map((name) => `src/commands/${name}.ts`);

/**
 * Who may import whom. A part may always import itself; a name that ends in .ts is one file of a part.
 * Packages are restricted where a part must stay free of the outside world.
 */
const parts: Record<string, { parts: readonly string[]; packages?: readonly string[] }> = {
  'src/domain': { parts: [], packages: ['zod'] },
  'src/commands': {
    parts: ['src/domain'],
    packages: ['node:crypto', 'node:timers/promises', 'node:zlib', 'canonicalize', 'lru-cache'],
  },
  projections: {
    parts: ['src/domain', ...ports, 'src/commands/observers.ts'],
  },
  // What is shown to people as a page or a file, whoever shows it: pure, so that the same facts give the same bytes.
  'src/documents': { parts: ['src/domain'], packages: ['csv-stringify/sync'] },
  'src/http': { parts: ['src/commands', 'projections', 'src/domain', 'src/documents'] },
  // Only what a client outside would have: the generated types.
  'src/client': { parts: [], packages: ['openapi-fetch'] },
  'src/console': { parts: ['src/commands', 'projections', 'src/domain', 'src/documents'] },
  'src/dispatcher': { parts: ['src/commands', 'projections', 'src/domain', 'src/verify'] },
  'src/worker': { parts: ['src/commands', 'projections', 'src/domain'] },
  'src/cli': { parts: ['src/commands', 'projections', 'src/domain', 'src/verify', 'src/documents', 'src/client'] },
  // The audit shares no rule with what charged: only the shape in which the log hands out its events. What reads for it
  // (forms of events, pages of the log, rows of Postgres) stands beside it, so that its own lines are rules, and shares no more.
  'src/audit': {
    parts: ['src/commands/ports.ts', 'src/verify/divergence.ts', 'src/verify/forms.ts'],
    packages: ['node:crypto'],
  },
  'src/verify': {
    parts: ['src/commands/ports.ts', 'src/audit'],
    packages: ['node:crypto', 'node:timers/promises', 'node:util'],
  },
  'src/adapters': {
    parts: [...ports, 'src/commands/observers.ts', 'src/commands/outage.ts', 'src/commands/tracing.ts', 'src/domain'],
  },
  'src/embedded': { parts: [] },
  'src/main': { parts: ['src', 'projections'] },
};

const files = sourceFiles('src', 'projections');

function partOf(path: string): string {
  return path.startsWith('src/') ? path.split('/').slice(0, 2).join('/') : (path.split('/')[0] ?? path);
}

function allows(allowed: string, path: string): boolean {
  return path === allowed || path.startsWith(`${allowed}/`);
}

describe('who imports whom', () => {
  it('knows every part', () => {
    const unknown = new Set(files.map(({ path }) => partOf(path)).filter((part) => !(part in parts)));
    expect([...unknown]).toEqual([]);
  });

  it.each(Object.entries(parts))('%s imports only what it may', (part, rule) => {
    const violations = files
      .filter(({ path }) => partOf(path) === part)
      .flatMap((file) => {
        const imports = importsOf(file);
        const wrongFiles = imports.files.filter(
          (path) => ![part, ...rule.parts].some((allowed) => allows(allowed, path)),
        );
        const wrongPackages = imports.packages.filter((name) => rule.packages?.includes(name) === false);
        return [...wrongFiles, ...wrongPackages].map((name) => `${file.path} imports ${name}`);
      });
    expect(violations).toEqual([]);
  });

  it('imports files that exist', () => {
    const missing = files.flatMap((file) =>
      importsOf(file)
        .files.filter((path) => !existsSync(join(root, path)))
        .map((path) => `${file.path} imports ${path}`),
    );
    expect(missing).toEqual([]);
  });
});
