import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { freePort } from '../../src/embedded/free-port.ts';
import { bullMqPackage } from './contenders/queues.ts';

const require = createRequire(import.meta.url);

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

export interface Redis {
  url: string;
  pid: number;
  stop: () => Promise<void>;
}

/**
 * @param directory for its file of appended commands
 * @returns undefined where no `redis-server` is on the PATH, or `bullmq` is not installed, which is why one would want it
 */
export async function startRedis(directory: string): Promise<Redis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0 || !isInstalled(bullMqPackage)) return undefined;
  const port = await freePort();
  const flags = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--appendonly',
    'yes',
    '--save',
    '',
  ];
  const child = spawn('redis-server', flags, { stdio: 'ignore' });
  await once(child, 'spawn');
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid ?? -1,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
