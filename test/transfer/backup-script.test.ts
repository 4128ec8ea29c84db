import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

import { within } from '../cli/command-line.ts';
import { openEventStore } from '../support/shared-event-stores.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

const execute = promisify(execFile);

it('deploy/backup.sh exports the log, copies the finished files, and never replaces a backup', async () => {
  const store = await openEventStore();
  const database = await createMigratedDatabase();
  onTestFinished(async () => {
    await store.stop();
    await database.drop();
  });
  const directory = temporaryDirectory();
  const files = join(directory, 'files');
  mkdirSync(files);
  writeFileSync(join(files, 'film.mp4'), 'a film');
  const environment = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: directory, FILES_DIRECTORY: files, NATS_URL: 'nats://127.0.0.1:9' },
    ...{ EVENTSTORE_URL: store.url, DATABASE_URL: database.url },
    REELTALLY_SECRET: 'a secret that is long enough for a test',
  };
  const backUp = (target: string, more = {}) =>
    execute(join(root, 'deploy/backup.sh'), [target], { cwd: root, env: { ...environment, ...more } });
  const opened = await within(environment)('issuer', 'set', '--name', 'Example Ltd', '--json');
  expect(opened.code).toBe(0);

  const target = join(directory, 'backup');
  await backUp(target);
  expect(statSync(target).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(target, 'files/film.mp4'), 'utf8')).toBe('a film');
  await execute('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: target });
  const moved = { ...environment, EVENTSTORE_URL: '', REELTALLY_DATA: join(directory, 'moved') };
  const { EVENTSTORE_URL: _, ...embedded } = moved;
  const { code, stdout } = await within(embedded)('log', 'import', join(target, 'log.ndjson.gz'), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ events: 1 });

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
  const env = { PATH: process.env['PATH'] ?? '', EVENTSTORE_DB: node };
  const { stderr } = await execute('sh', ['-x', join(root, 'deploy/backup.sh'), target], { cwd: root, env });
  const places = ['find index -name', 'find index -type f', 'writer.chk', 'chunk-000000.000000', 'truncate.chk'];
  const found = places.map((place) => stderr.indexOf(place));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((one, other) => one - other));
  for (const file of inOrder) expect(readFileSync(join(target, 'event-store', file), 'utf8')).toBe(file);
  expect(readFileSync(join(target, 'event-store/truncate.chk'), 'utf8')).toBe('chaser.chk');
});
