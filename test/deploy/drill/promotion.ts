import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { compose } from './run-compose.ts';

/** Which of the two services of Postgres leads. */
export interface PostgresServices {
  primary: string;
  standby: string;
}

const settingsFile = 'deploy/.env';

export async function postgresServices(): Promise<PostgresServices> {
  const [, primary = ''] = /^POSTGRES_PRIMARY=(.*)$/m.exec(await readFile(settingsFile, 'utf8')) ?? [];
  return { primary, standby: primary === 'postgres' ? 'postgres-standby' : 'postgres' };
}

export async function psql(service: string, question: string): Promise<string> {
  const program = ['psql', '--dbname=reeltally', '--tuples-only', '--no-align', '--command', question];
  return (await compose('exec', '-T', '--user', 'postgres', service, ...program)).trim();
}

/** The steps of docs/operations.md once the primary is gone, without the new standby. */
export async function promote({ standby }: PostgresServices): Promise<void> {
  await compose('exec', '-T', '--user', 'postgres', standby, 'sh', '-c', 'pg_ctl promote --wait');
  const settings = await readFile(settingsFile, 'utf8');
  await writeFile(settingsFile, settings.replace(/^POSTGRES_PRIMARY=.*$/m, `POSTGRES_PRIMARY=${standby}`));
  await promisify(execFile)('deploy/prepare.sh');
  await compose('up', '--detach', '--no-deps', '--wait', standby, 'projector', 'dispatcher', 'worker', 'api');
}
