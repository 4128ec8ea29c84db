import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/embedded/free-port.ts';
import { weakSandboxNotice } from '../../src/main/downloader-sandbox.ts';
import { familyOf, listProcesses, readProcessFile } from '../../src/system/processes.ts';
import { noDownloads } from '../http/shared-service.ts';
import { runCommand, startService } from '../support/service.ts';
import { temporaryDataDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

it('a service that says it is ready is found by commands, and has what its start screen shows', async () => {
  const REELTALLY_DATA = join(temporaryDataDirectory(), 'data');
  const PORT = String(await freePort());
  const starting = startService({ ...noDownloads, REELTALLY_DATA, PORT });
  onTestFinished(async () => (await starting)[Symbol.asyncDispose]());
  const isReady = () =>
    fetch(`http://127.0.0.1:${PORT}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await waitFor(isReady, { what: 'the service to be ready', pollMs: 5 });
  expect(existsSync(join(REELTALLY_DATA, 'instance.json'))).toBe(true);
  const { code, stdout } = await runCommand(['accounts', 'list'], { REELTALLY_DATA });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('demo@example.com') as string });
});

it('a worker that is ready has started its engine', async ({ skip }) => {
  await using service = await startService(noDownloads);
  if (service.notices.includes(weakSandboxNotice)) return skip('children are not forked here');
  const family = familyOf([service.pid], listProcesses());
  const engines = family.filter((pid) => readProcessFile(pid, 'cmdline')?.includes('reeltally:warm'));
  expect(engines, service.log()).not.toEqual([]);
});
