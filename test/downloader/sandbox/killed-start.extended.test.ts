import { spawn } from 'node:child_process';
import { it } from 'vitest';
import {
  listProcesses,
  type ProcessFacts,
  readProcess,
  readProcessFile,
  readProcessLink,
} from '../../../src/system/processes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const source = new URL('../../../src/downloader/sandbox/open-sandbox.ts', import.meta.url).href;
const program = `
  const { openSandbox } = await import(${JSON.stringify(source)});
  await openSandbox({ directory: process.argv[1], programs: [], readable: [] });`;

const listens = (pid: number) => readProcessFile(pid, 'net/tcp')?.includes(' 0A ');

/** It is stopped first, so that it does not take the socket. */
it('a process that is killed while it opens its sandbox does not leave the maker of its network behind', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, temporaryDirectory()]);
  const isMaker = ({ pid, parent }: ProcessFacts) =>
    parent === child.pid && readProcessFile(pid, 'cmdline')?.includes('createServer');
  const { pid: maker } = await waitFor(() => listProcesses().find(isMaker), {
    what: 'the maker of the network',
    pollMs: 1,
  });
  child.kill('SIGSTOP');
  const network = () => readProcessLink(maker, 'ns/net');
  await waitFor(() => network() !== readProcessLink(process.pid, 'ns/net') && listens(maker), {
    what: 'its socket to listen',
    pollMs: 1,
  });
  child.kill('SIGKILL');
  await waitFor(() => ['Z', undefined].includes(readProcess(maker)?.state), { what: 'its end' });
});
