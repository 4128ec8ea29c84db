import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

/** What deploy/postgres/start.sh says before it ends, on a folder with these files. */
function refusalOf({ self, primary, files }: { self: string; primary: string; files: readonly string[] }): string {
  const folder = temporaryDirectory();
  for (const name of files) writeFileSync(join(folder, name), '');
  // The user `postgres` and the folder of its socket are the image's.
  const programs = temporaryDirectory();
  writeFileSync(join(programs, 'install'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(programs, 'password'), 'secret');
  const { status, stderr } = spawnSync('sh', [join(root, 'deploy/postgres/start.sh'), 'postgres'], {
    env: {
      PATH: `${programs}:${process.env['PATH']}`,
      PGDATA: folder,
      SELF: self,
      PRIMARY: primary,
      REPLICATOR_PASSWORD_FILE: join(programs, 'password'),
    },
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  return stderr;
}

it('the folder of a standby that was promoted is not called one to remove before it is called the primary', () => {
  const said = refusalOf({ self: 'postgres-standby', primary: 'postgres', files: ['PG_VERSION'] });
  const [beforeRemoval = '', removal] = said.split(/remove/);
  expect(beforeRemoval).toContain(
    'If it was promoted, keep it, and set POSTGRES_PRIMARY=postgres-standby in deploy/.env',
  );
  expect(removal).toMatch(/volume/);
  expect(said).toContain('Promote the standby of Postgres');
});

it('the folder of a standby does not lead before it is promoted', () => {
  const files = ['PG_VERSION', 'standby.signal'];
  const said = refusalOf({ self: 'postgres', primary: 'postgres', files });
  expect(said).toContain('must be promoted before it leads');
});
