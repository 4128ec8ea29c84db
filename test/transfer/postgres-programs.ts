import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tidy/source-files.ts';

/**
 * The environment for the psql of this machine; where it has none, one of ours in the folder is found, which runs a command or a
 * file.
 */
export function postgresPrograms(folder: string, databaseUrl: string) {
  const psql = `#!${process.execPath}
import { readFileSync } from 'node:fs';
import pg from '${root}/node_modules/pg/lib/index.js';
const args = process.argv.slice(2);
const client = new pg.Client();
await client.connect();
const at = args.indexOf('--command');
const file = args.find((arg) => arg.startsWith('--file='))?.slice('--file='.length);
const results = [await client.query(at < 0 ? readFileSync(file, 'utf8') : args[at + 1])].flat();
for (const { rows = [] } of results) for (const row of rows) console.log(Object.values(row).join('|'));
await client.end();
`;
  writeFileSync(join(folder, 'psql'), psql, { mode: 0o755 });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  return {
    PATH: `${process.env['PATH'] ?? ''}:${folder}`,
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
  };
}
