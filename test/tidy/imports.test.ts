import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { importsOf, type SourceFile, sourceFiles, visitNodes } from './source-files.ts';

interface Room {
  /** Rooms that it may import beside itself; a file, where that one file is all that it needs of a room. */
  rooms: readonly string[];
  /** Packages that it may import, in a room that stays free of the outside world. */
  packages?: readonly string[];
}

const insideOfService = ['src/domain', 'src/ports', 'src/commands'];
const readModels = ['projections', 'projections/runner'];

/** Who may import whom. A folder with a row of its own is a room of its own, and nothing imports `main`. */
const rooms: Readonly<Record<string, Room>> = {
  // Waiting: for a time, a condition, a promise, a signal; nothing else of the service.
  'src/async': { rooms: [], packages: ['node:events', 'node:timers/promises'] },
  // What every listener reads of a request, before it is one of the API, of a console or for a file.
  'src/requests': { rooms: [], packages: ['node:http', 'node:net', 'fastify'] },
  'src/domain': { rooms: [], packages: ['zod'] },
  'src/ports': { rooms: ['src/domain'], packages: [] },
  'src/commands': {
    rooms: ['src/async', 'src/domain', 'src/ports'],
    packages: ['node:crypto', 'node:zlib', 'canonicalize', 'lru-cache', 'uuid'],
  },
  // What the projector writes, with the reads of one row.
  projections: { rooms: ['src/async', 'src/domain', 'src/ports', 'src/proof', 'projections/runner'] },
  // What pages, commands and exports read of several rows or tables; documents with the names that the log has for them.
  'projections/queries': {
    rooms: [
      'src/domain',
      'src/ports',
      'src/documents',
      'src/proof',
      ...readModels,
      // What is overdue is what the calendar has not done.
      'projections/work-lists/unclosed-periods.ts',
    ],
  },
  // What the loops of dispatcher and worker have to do next.
  'projections/work-lists': { rooms: ['src/ports', 'projections/runner'] },
  'projections/runner': { rooms: ['src/async', 'src/ports'] },
  'projections/admission': { rooms: ['src/domain', 'src/ports', 'projections', 'projections/runner'] },
  // Pages and files for people, made of facts alone: the same facts give the same bytes.
  'src/documents': { rooms: ['src/domain'], packages: ['csv-stringify/sync'] },
  // APIs written down as OpenAPI, from their tables of endpoints.
  'src/openapi': { rooms: [], packages: ['zod'] },
  'src/http': {
    rooms: [
      'src/async',
      'src/requests',
      ...insideOfService,
      'projections',
      'projections/admission',
      // Of one account each.
      'projections/queries/account-documents.ts',
      'projections/queries/account-downloads.ts',
      'projections/queries/ended-downloads.ts',
      'projections/queries/usage-of-keys.ts',
      // Hashes of all accounts, which are public.
      'projections/queries/tiles.ts',
      'src/documents',
      'src/openapi',
      'src/proof',
    ],
  },
  // What both consoles share. It knows neither of them, and lists nothing over all accounts.
  'src/console': {
    rooms: [
      'src/async',
      'src/requests',
      ...insideOfService,
      'projections/queries/account-downloads.ts',
      'projections/queries/account-history.ts',
      'projections/api-keys.ts',
      'projections/credits.ts',
      'projections/credits-macs.ts',
      'projections/jobs.ts',
      'projections/queries/line-items.ts',
      // Of a document that a page has found.
      'projections/proofs.ts',
      'projections/queries/document-proof.ts',
      'src/proof/proof-file.ts',
      'projections/runner',
      'src/documents',
    ],
  },
  // The console of account owners and that of staff: twins that never import one another.
  'src/console/owner': {
    rooms: [
      'src/async',
      ...insideOfService,
      ...readModels,
      'projections/queries/account-downloads.ts',
      'projections/queries/account-documents.ts',
      'projections/queries/account-history.ts',
      'projections/queries/account-periods.ts',
      'projections/queries/requests-of-keys.ts',
      'projections/queries/usage-of-keys.ts',
      'projections/admission/key-use.ts',
      'src/documents',
      'src/console',
    ],
  },
  'src/console/staff': {
    rooms: [
      'src/requests',
      ...insideOfService,
      ...readModels,
      'projections/queries',
      'projections/admission/key-use.ts',
      'src/documents',
      'src/openapi',
      'src/console',
    ],
  },
  // What runs in the reader's browser: nothing of the service.
  'src/console/browser': { rooms: [], packages: ['preact', '@preact/signals', 'htm', 'uplot'] },
  // A package of its own, which is installed without the service.
  'src/client': {
    rooms: [],
    packages: ['openapi-fetch', 'node:crypto', 'node:fs/promises', 'node:path', 'node:process', 'node:util'],
  },
  'src/dispatcher': {
    rooms: [
      'src/async',
      ...insideOfService,
      ...readModels,
      'projections/work-lists',
      'projections/queries/audit-state.ts',
      'projections/queries/parties.ts',
      // A mail says what the lines of a document are.
      'src/documents/invoice-document.ts',
      'src/audit/compare',
      'src/proof',
    ],
  },
  'src/worker': { rooms: ['src/async', 'src/domain', 'src/ports', 'src/commands'] },
  'src/cli': {
    rooms: [
      'src/async',
      ...insideOfService,
      ...readModels,
      'projections/queries',
      'projections/work-lists/due-periods.ts',
      'projections/admission/key-use.ts',
      'src/audit/compare',
      'src/audit/rules',
      'src/documents',
      'src/proof',
      'src/transfer',
      'src/client',
    ],
  },
  // Proofs of documents, over the hash trees and signed notes of public formats.
  'src/proof': {
    rooms: ['src/domain', 'src/ports', 'src/commands/handler/hash-chain.ts'],
    packages: ['node:crypto', 'canonicalize'],
  },
  // The story of a demo, told through the commands; the files of its downloads have the names of real ones.
  'src/demo': {
    rooms: [
      ...insideOfService,
      ...readModels,
      'projections/work-lists/pending-void-gate.ts',
      'src/downloader/verify/tools.ts',
    ],
  },
  // The log as a file: from one event store to another.
  'src/transfer': { rooms: ['src/ports'] },
  // yt-dlp, ffmpeg and what holds them.
  'src/downloader': { rooms: ['src/async', 'src/domain', 'src/ports', 'src/system'] },
  // The audit shares no rule with what it audits, nor a type.
  'src/audit/rules': { rooms: [], packages: ['node:crypto', 'node:util'] },
  'src/audit/compare': { rooms: ['src/audit/rules'], packages: ['node:crypto', 'node:timers/promises', 'p-map'] },
  'src/adapters': {
    rooms: [
      'src/async',
      'src/domain',
      'src/ports',
      'src/system/disk.ts',
      'src/system/private-files.ts',
      'projections/runner/rows.ts',
      'projections/runner/refused-readers.ts',
      'projections/work-lists/pending-void-gate.ts',
    ],
  },
  // This machine: its clock, chance, disks and sockets.
  'src/system': { rooms: [] },
  // What a bare machine lacks: nothing of the service.
  'src/embedded': { rooms: ['src/async', 'src/system'] },
};

/** What owner pages read of the read models: each is of the account that asks, or of a row that they have found there. */
const readByOwners = [
  'readAccountDownload',
  'listAccountDownloads',
  'readDownloadFacts',
  'pageAccountPeriods',
  'usageOfRow',
  'listUsageDays',
  'listUsageOfKeys',
  'readRequestsOfKeys',
  'readFeeRises',
  'readInvoices',
  'listDocuments',
  'findInvoice',
  'findCreditNote',
  'readHeadFor',
  'listApiKeys',
  'readApiKey',
  'hasIdempotencyKey',
  'repeatedAt',
  'listKeysWithUse',
  'waitForKey',
  'readKeyedDownload',
  // Not queries: a constant, and read models whose checkpoints are waited for.
  'notBelieved',
  'catchUp',
  'people',
  'usageAndJobs',
];

const files = sourceFiles('src', 'projections').map((file) => ({ path: file.path, ...importsOf(file) }));

/** The innermost room with a row; undefined for `main`, which may import everything. */
function roomOf(path: string): string | undefined {
  const around = Object.keys(rooms).filter((room) => path.startsWith(`${room}/`));
  return around.sort((one, other) => other.length - one.length)[0];
}

const isMain = (path: string): boolean => path.startsWith('src/main/');

const allows = (allowed: string, path: string): boolean => path === allowed || roomOf(path) === allowed;

/** Names of the values, types apart, that a file imports from below a folder. */
function valuesImportedFrom(file: SourceFile, folder: string): string[] {
  const names: string[] = [];
  visitNodes(file, (node) => {
    if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) return;
    if (!node.moduleSpecifier.text.replace(/^[./]*/, '').startsWith(folder)) return;
    const { importClause } = node;
    if (importClause === undefined || importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return;
    // Everything of a module at once cannot be checked by name.
    if (importClause.namedBindings === undefined || !ts.isNamedImports(importClause.namedBindings)) names.push('*');
    else
      for (const { propertyName, name, isTypeOnly } of importClause.namedBindings.elements)
        if (!isTypeOnly) names.push((propertyName ?? name).text);
  });
  return names;
}

/** Files that import one another in a loop, types included, each once, with a file that begins it. */
function findCircles(): string[] {
  const importsByPath = new Map(files.map(({ path, files: targets }) => [path, targets]));
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' -> '));
    if (way.includes(path) || done.has(path)) return;
    for (const target of importsByPath.get(path) ?? []) walk(target, [...way, path]);
    done.add(path);
  };
  for (const { path } of files) walk(path, []);
  return circles;
}

describe('who imports whom', () => {
  it('every file is in a room, and every room holds files', () => {
    expect(files.filter(({ path }) => !isMain(path) && roomOf(path) === undefined)).toEqual([]);
    expect(Object.keys(rooms).filter((room) => !files.some(({ path }) => roomOf(path) === room))).toEqual([]);
  });

  it.each(Object.entries(rooms))('%s imports what its row says, no more and no less', (room, row) => {
    const inside = files.filter(({ path }) => roomOf(path) === room);
    const wrong = inside.flatMap(({ path, files: targets, packages }) => [
      ...targets
        .filter((target) => roomOf(target) !== room && !row.rooms.some((allowed) => allows(allowed, target)))
        .map((target) => `${path} imports ${target}`),
      ...packages.filter((name) => row.packages?.includes(name) === false).map((name) => `${path} imports ${name}`),
    ]);
    expect(wrong).toEqual([]);
    const unneeded = [
      ...row.rooms.filter((allowed) => !inside.some((file) => file.files.some((target) => allows(allowed, target)))),
      ...(row.packages ?? []).filter((name) => !inside.some(({ packages }) => packages.includes(name))),
    ];
    expect(unneeded).toEqual([]);
  });

  it('no file imports itself by way of others', () => {
    expect(findCircles()).toEqual([]);
  });

  it('owner pages import no query over all accounts', () => {
    const names = sourceFiles('src/console/owner').flatMap((file) => valuesImportedFrom(file, 'projections/'));
    expect(names.filter((name) => !readByOwners.includes(name))).toEqual([]);
    expect(readByOwners.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('nothing imports main', () => {
    const intruders = files.filter(({ path, files: targets }) => !isMain(path) && targets.some(isMain));
    expect(intruders.map(({ path }) => path)).toEqual([]);
  });
});
