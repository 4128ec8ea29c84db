import { execFile } from 'node:child_process';
import process from 'node:process';
import { setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** DRILL_COMPOSE: the command for `docker compose` with its files. */
const [command = 'docker', ...words] = (
  process.env['DRILL_COMPOSE'] ??
  'docker compose --project-directory deploy -f deploy/compose.yaml -f test/deploy/drill/compose.yaml'
).split(' ');

/** Runs a command of Compose for the deployment of the drill. @returns its standard output */
export async function compose(...given: string[]): Promise<string> {
  return (await run(command, [...words, ...given], { maxBuffer: 2 ** 26 })).stdout;
}

export const docker = async (...given: string[]) => (await run('docker', given)).stdout.trim();

/** @returns those of a service, in their order; none of one that does not run */
export async function containersOf(service: string): Promise<string[]> {
  const ids = (await compose('ps', '--all', '--quiet', service).catch(() => '')).split('\n');
  return ids.filter((id) => id !== '');
}

/** Runs a command of the service in the container of an API. @returns what it prints with `--json` */
export async function reeltally<Result>(...given: string[]): Promise<Result> {
  const service = ['node', '--disable-warning=ExperimentalWarning', 'src/main/reeltally.js'];
  return JSON.parse(await compose('exec', '-T', 'api', ...service, ...given, '--json')) as Result;
}

/** @returns its id, and a key of it that may ask as often as the drill does */
export async function openAccount(email: string): Promise<{ account: string; key: string }> {
  const { account_id: account } = await reeltally<{ account_id: string }>(
    ...['accounts', 'open', '--email', email, '--plan', 'dev_100'],
  );
  await reeltally('accounts', 'terms', account, '--hourly', '10000');
  const { key } = await reeltally<{ key: string }>('keys', 'issue', account);
  return { account, key };
}

/** How many downloads the account is charged for. */
export async function chargedDownloads(account: string): Promise<number> {
  const { downloads, overage } = await reeltally<{ downloads: { used: number }; overage: { downloads: number } }>(
    ...['accounts', 'show', account],
  );
  return downloads.used + overage.downloads;
}

/** For requests through the proxy, which has signed its certificate itself. */
export async function trustProxy(): Promise<void> {
  setDefaultCACertificates([await compose('exec', '-T', 'proxy', 'cat', '/data/caddy/pki/authorities/local/root.crt')]);
}
