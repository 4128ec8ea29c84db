import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sayingDisk } from '../../src/cli/disk-failure.ts';
import { freePort } from '../../src/embedded/free-port.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('names the file that cannot be read', async () => {
  const file = join(temporaryDirectory(), 'none');
  await expect(sayingDisk(file, () => readFile(file))).rejects.toThrow(`${file} cannot be read or written: ENOENT`);
});

it('leaves a lost connection to those who know what it was to', async () => {
  const port = await freePort();
  const lost = sayingDisk('backup', () => once(connect(port, '127.0.0.1'), 'connect'));
  await expect(lost).rejects.toMatchObject({
    code: 'ECONNREFUSED',
    message: expect.not.stringContaining('backup') as string,
  });
});
