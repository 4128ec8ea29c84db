import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../tidy/source-files.ts';

const run = promisify(execFile);

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** A folder in which the packed client is installed as anybody would install it. */
export interface InstalledClient {
  folder: string;
  /** The files of the package. */
  files: string[];
  /** Runs a program there, with nothing else in its environment but the way to Node. */
  run: (command: string, words: readonly string[], environment?: Record<string, string>) => Promise<Ran>;
}

/**
 * Packs the client by the project's own script, and installs it into a new folder below `directory`. Nothing comes from a
 * registry: its dependencies are packed from what `npm ci` has installed here, and npm is told to stay offline.
 */
export async function installClient(directory: string): Promise<InstalledClient> {
  const [packages, folder] = [join(directory, 'packages'), join(directory, 'program')];
  for (const made of [packages, folder]) mkdirSync(made);
  const { stdout } = await run('npm', ['run', '-s', 'pack:client', '--', packages], { cwd: root });
  const client = stdout.trim();
  const own = ['openapi-fetch', 'openapi-typescript-helpers'].map((name) => join(root, 'node_modules', name));
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', packages, ...own];
  const dependencies = JSON.parse((await run('npm', pack, { cwd: packages })).stdout) as { filename: string }[];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const tarballs = [client, ...dependencies.map(({ filename }) => join(packages, filename))];
  const quietly = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quietly, ...tarballs], { cwd: folder });
  const listed = await run('tar', ['-tzf', client]);
  return {
    folder,
    files: listed.stdout.trim().split('\n').sort(),
    run: (command, words, environment = {}) => runIn(folder, [command, ...words], environment),
  };
}

/** @returns exit code and output, whatever the code is */
async function runIn(cwd: string, [command = '', ...words]: string[], given: Record<string, string>): Promise<Ran> {
  const { PATH = '', HOME = '' } = process.env;
  const running = run(command, words, { cwd, env: { PATH, HOME, npm_config_offline: 'true', ...given } });
  return await running.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => error as Ran,
  );
}
