import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { notesFolder } from '../../src/adapters/files/file-key.ts';
import { within } from '../cli/command-line.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { openEventStore } from '../support/shared-event-stores.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';
import { postgresPrograms } from './postgres-programs.ts';

const execute = promisify(execFile);
const backedUp = ['SHA256SUMS', 'files.tar', 'log.ndjson.gz', 'pending-voids.sql', 'personal-keys.sql'];

it('deploy/backup.sh exports the log, copies the finished files, and never replaces a backup; so it does for Compose', async () => {
  const store = await openEventStore();
  const database = await createMigratedDatabase();
  onTestFinished(async () => {
    await store.stop();
    await database.drop();
  });
  const directory = temporaryDirectory();
  const [files, programs] = [join(directory, 'files'), join(directory, 'programs')];
  for (const folder of [files, programs]) mkdirSync(folder);
  writeFileSync(join(files, 'film.mp4'), 'a film');
  // Notes stay: a restored log is compared with the newest of them.
  mkdirSync(join(files, notesFolder));
  writeFileSync(join(files, notesFolder, 'erased-accounts'), '');
  const environment = {
    HOME: directory,
    FILES_DIRECTORY: files,
    NATS_URL: 'nats://127.0.0.1:9',
    ...postgresPrograms(programs, database.url),
    EVENTSTORE_URL: store.url,
    DATABASE_URL: database.url,
    REELTALLY_SECRET: 'a secret that is long enough for a test',
  };
  const backUp = (target: string, more = {}, ...flags: string[]) =>
    execute(join(root, 'deploy/backup.sh'), [...flags, target], { cwd: directory, env: { ...environment, ...more } });
  const opened = await within(environment)('issuer', 'set', '--name', 'Example Ltd', '--json');
  expect(opened.code).toBe(0);

  const target = join(directory, 'backup');
  await expect(backUp(target, { PGDATABASE: '' })).rejects.toThrow(/PGDATABASE is not set/);
  await backUp(target);
  expect(readdirSync(target).sort()).toEqual(backedUp);
  expect(statSync(target).mode & 0o777).toBe(0o700);
  expect(await filesOf(target)).toEqual(['./film.mp4']);
  await execute('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: target });
  const moved = { ...environment, EVENTSTORE_URL: '', REELTALLY_DATA: join(directory, 'moved') };
  const { EVENTSTORE_URL: _, ...embedded } = moved;
  const { code, stdout } = await within(embedded)('log', 'import', join(target, 'log.ndjson.gz'), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ events: 1 });

  // Compose runs the commands in a container, whose program is that of the service.
  const inPostgres = '--user postgres --env PGDATABASE=reeltally postgres';
  const docker = `#!/bin/sh\n[ "$1 $2 $3" = 'compose exec -T' ] || exit 9\nshift 3\ncase "$*" in\n  'api '*) shift ;;\n  '${inPostgres} '*) shift 5 ;;\n  *) exit 9 ;;\nesac\ncd ${root} && exec "$@"\n`;
  writeFileSync(join(programs, 'docker'), docker, { mode: 0o755 });
  const inContainer = join(directory, 'data');
  mkdirSync(inContainer);
  const composed = join(directory, 'composed');
  const path = [programs, dirname(process.execPath), environment.PATH].join(':');
  await backUp(composed, { PATH: path, REELTALLY_DATA: inContainer }, '--compose');
  expect(readdirSync(composed).sort()).toEqual(backedUp);
  expect(await filesOf(composed)).toEqual(['./film.mp4']);
  expect(readdirSync(inContainer)).toEqual([]);

  const gone = 'echo "service is not running" >&2; exit 1';
  writeFileSync(join(programs, 'docker'), docker.replace('\ncd', `\n[ "$1" != tar ] || { ${gone}; }\ncd`), {
    mode: 0o755,
  });
  const withoutFiles = join(directory, 'without-files');
  await expect(backUp(withoutFiles, { PATH: path, REELTALLY_DATA: inContainer }, '--compose')).rejects.toThrow(
    /is not running/,
  );
  expect(existsSync(withoutFiles)).toBe(false);

  await expect(backUp(target)).rejects.toThrow(/exists: name a new folder/);
  const failed = join(directory, 'failed');
  await expect(backUp(failed, { EVENTSTORE_DB: join(directory, 'missing') })).rejects.toThrow();
  expect(existsSync(failed)).toBe(false);
});

it('deploy/backup.sh copies the files of a node: checkpoints before what they point to', async () => {
  const directory = temporaryDirectory();
  const node = join(directory, 'node');
  mkdirSync(join(node, 'index'), { recursive: true });
  const inOrder = ['index/indexmap.chk', 'index/table', 'chaser.chk', 'writer.chk', 'chunk-000000.000000'];
  for (const file of inOrder) writeFileSync(join(node, file), file);
  const target = join(directory, 'backup');
  const env = { PATH: silentPostgres(directory), PGDATABASE: 'reeltally', EVENTSTORE_DB: node };
  const { stderr } = await execute('sh', ['-x', join(root, 'deploy/backup.sh'), target], { cwd: root, env });
  expect(stderr).toContain('finished files are not in this backup');
  const places = [
    '+ psql',
    '+ pg_dump',
    'find index -name',
    'find index -type f',
    'writer.chk',
    'chunk-000000.000000',
    'truncate.chk',
  ];
  expect(stderr.lastIndexOf('+ psql')).toBeGreaterThan(stderr.indexOf('truncate.chk'));
  const found = places.map((place) => stderr.indexOf(place));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((one, other) => one - other));
  for (const file of inOrder) expect(readFileSync(join(target, 'event-store', file), 'utf8')).toBe(file);
  expect(readFileSync(join(target, 'event-store/truncate.chk'), 'utf8')).toBe('chaser.chk');
});

it('deploy/backup.sh fails where a file of the node cannot be copied', async () => {
  const directory = temporaryDirectory();
  const [index, programs] = [join(directory, 'node/index'), join(directory, 'programs')];
  for (const folder of [index, programs]) mkdirSync(folder, { recursive: true });
  for (const file of ['index/indexmap.chk', 'index/table', 'chaser.chk', 'chunk-000000.000000'])
    writeFileSync(join(directory, 'node', file), file);
  // As on a full disk.
  const cp = `#!/bin/sh\ncase "$*" in *index/table*) exit 1 ;; esac\nPATH="$REAL_PATH" exec cp "$@"\n`;
  writeFileSync(join(programs, 'cp'), cp, { mode: 0o755 });
  const path = silentPostgres(programs);
  const all = { PATH: `${programs}:${path}`, REAL_PATH: path, PGDATABASE: 'reeltally' };
  const env = { ...all, EVENTSTORE_DB: join(directory, 'node') };
  const target = join(directory, 'backup');
  await expect(execute(join(root, 'deploy/backup.sh'), [target], { cwd: root, env })).rejects.toThrow();
  expect(readdirSync(directory).sort()).toEqual(['node', 'programs']);
});

it('deploy/backup.sh leaves out a finished file that expires meanwhile, and fails for one that it may not read', async () => {
  const directory = temporaryDirectory();
  const [node, files, programs] = ['node/index', 'files/token', 'programs'].map((name) => {
    mkdirSync(join(directory, name), { recursive: true });
    return join(directory, name);
  }) as [string, string, string];
  for (const file of ['chaser.chk', 'chunk-000000.000000']) writeFileSync(join(node, '..', file), file);
  for (const film of ['one.mp4', 'two.mp4']) writeFileSync(join(files, film), 'a film');
  const env = { PGDATABASE: 'reeltally', EVENTSTORE_DB: join(node, '..'), FILES_DIRECTORY: join(files, '..') };
  /** `tar` that finds a film of its list gone, or one that it may not read. */
  const backUp = (target: string, code: number) => {
    const tar = `#!/bin/sh\n/usr/bin/env PATH="$REAL_PATH" tar --exclude=one.mp4 "$@"; exit ${String(code)}\n`;
    writeFileSync(join(programs, 'tar'), tar, { mode: 0o755 });
    const path = silentPostgres(programs);
    const all = { ...env, PATH: `${programs}:${path}`, REAL_PATH: path };
    return execute(join(root, 'deploy/backup.sh'), [join(directory, target)], { cwd: root, env: all });
  };
  await expect(backUp('failed', 2)).rejects.toThrow();
  expect(readdirSync(directory).sort()).toEqual(['files', 'node', 'programs']);
  await backUp('backup', 1);
  expect(await filesOf(join(directory, 'backup'))).toEqual(['./token/two.mp4']);
});

/** Programs of Postgres that find nothing. @returns a PATH that begins with them */
function silentPostgres(directory: string): string {
  const folder = join(directory, 'of-postgres');
  mkdirSync(folder, { recursive: true });
  for (const name of ['psql', 'pg_dump']) writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
  return `${folder}:${process.env['PATH'] ?? ''}`;
}

async function filesOf(backup: string): Promise<string[]> {
  const { stdout } = await execute('tar', ['-tf', join(backup, 'files.tar')]);
  return stdout.split('\n').filter((name) => name !== '' && !name.endsWith('/'));
}
