import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { deployFile } from './compose-file.ts';

const execute = promisify(execFile);
const nodes = ['event-store', 'event-store-2', 'event-store-3'];

/** The folders of three nodes, some of them with a log. */
function volumes(...full: string[]) {
  const directory = temporaryDirectory();
  const script = join(directory, 'volumes.sh');
  writeFileSync(script, deployFile('event-store/volumes.sh').replace('/volumes', join(directory, 'volumes')));
  for (const node of nodes) mkdirSync(join(directory, 'volumes', node), { recursive: true });
  for (const node of full) writeFileSync(join(directory, 'volumes', node, 'chaser.chk'), `the log of ${node}`);
  return {
    folderOf: (node: string) => join(directory, 'volumes', node),
    run: (...given: string[]) => execute('sh', [script, ...given]),
    logOf: (node: string) => readFileSync(join(directory, 'volumes', node, 'chaser.chk'), 'utf8'),
  };
}

it.each([[[]], [nodes.slice(1)], [nodes]])('nodes may start where these have a log: %j', async (full) => {
  await expect(volumes(...full).run()).resolves.toMatchObject({ stderr: '' });
});

it.each(nodes)('no node may start where %s alone has a log, until the others have a copy', async (node) => {
  const { run, logOf } = volumes(node);
  await expect(run()).rejects.toThrow(`only ${node} has a log`);
  await run('copy');
  expect(nodes.map(logOf)).toEqual(nodes.map(() => `the log of ${node}`));
  await expect(run()).resolves.toMatchObject({ stderr: '' });
});

it('a node with a log gets no copy', async () => {
  const { run, logOf } = volumes('event-store', 'event-store-2');
  await run('copy');
  expect(logOf('event-store-2')).toBe('the log of event-store-2');
});

it('an interrupted copy counts for nothing, and is made again', async () => {
  const { run, folderOf, logOf } = volumes('event-store');
  // A folder in the place of a file stops the copy after it has copied some.
  const [obstacle, blocked] = [join(folderOf('event-store-2'), 'chunk-000000.000000'), 'chunk-000000.000000'];
  writeFileSync(join(folderOf('event-store'), blocked), 'the first chunk');
  mkdirSync(obstacle);
  await expect(run('copy')).rejects.toThrow(blocked);
  expect(logOf('event-store-2')).toBe('the log of event-store');
  await expect(run()).rejects.toThrow('only event-store has a log');
  rmSync(obstacle, { recursive: true });
  await run('copy');
  expect(readFileSync(obstacle, 'utf8')).toBe('the first chunk');
  await expect(run()).resolves.toMatchObject({ stderr: '' });
});
