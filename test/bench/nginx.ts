import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, isPortFree } from '../../src/embedded/free-port.ts';
import { waitFor } from '../support/wait-for.ts';

interface Nginx {
  url: string;
  pid: number;
  stop: () => Promise<void>;
}

/**
 * @param directory for its configuration and temporary files
 * @param root whose files it serves
 * @returns undefined where no `nginx` is on the PATH
 */
export async function startNginx(directory: string, root: string): Promise<Nginx | undefined> {
  if (spawnSync('nginx', ['-v']).status !== 0) return undefined;
  const port = await freePort();
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configurationOf(directory, port, root));
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr', '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(child, 'spawn');
  await waitFor(async () => !(await isPortFree(port)), { what: 'nginx to listen' });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? -1,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** One process, like the others. With a worker of its own, nginx would give up the rights to read the bench's files. */
const configurationOf = (directory: string, port: number, root: string) => `
master_process off;
pid ${join(directory, 'nginx.pid')};
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(directory, `nginx-${name}`)};`)
    .join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${root};
  }
}
`;
