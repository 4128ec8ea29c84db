import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../src/embedded/free-port.ts';

export interface Redis {
  url: string;
  pid: number;
  stop: () => Promise<void>;
}

/** @returns undefined where no `redis-server` is on the PATH. @param directory for its file of appended commands */
export async function startRedis(directory: string): Promise<Redis | undefined> {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined;
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
