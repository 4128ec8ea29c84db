import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

const execute = promisify(execFile);

/** A folder `deploy` of its own in `directory`, with what deploy/prepare.sh starts from. */
export function deployment(directory = temporaryDirectory()) {
  const deploy = join(directory, 'deploy');
  mkdirSync(deploy);
  for (const part of ['prepare.sh', 'env.example', 'cluster.env'])
    cpSync(join(root, 'deploy', part), join(deploy, part));
  return {
    deploy,
    read: (name: string) => readFileSync(join(deploy, name), 'utf8'),
    prepare: (...flags: string[]) => execute(join(deploy, 'prepare.sh'), flags),
  };
}
