import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';

/** DRILL_COMPOSE: the command for `docker compose` with its files. */
const [command = 'docker', ...words] = (
  process.env['DRILL_COMPOSE'] ??
  'docker compose --project-directory deploy -f deploy/compose.yaml -f test/deploy/drill/compose.yaml'
).split(' ');

/** Runs a command of Compose for the deployment of the drill. @returns its standard output */
export async function compose(...given: string[]): Promise<string> {
  return (await promisify(execFile)(command, [...words, ...given], { maxBuffer: 2 ** 26 })).stdout;
}
