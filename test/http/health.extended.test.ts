import { describe, expect, it, onTestFinished } from 'vitest';
import { readiness } from '../support/readiness.ts';
import { spawnCommand } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { shareService } from './shared-service.ts';

const service = shareService();

describe('health checks', () => {
  it('a worker without room for files is ready, and says that downloads wait; so does its start', async () => {
    const words = ['serve', '--role', 'worker'];
    const starting = spawnCommand(words, { REELTALLY_DATA: service.dataDirectory, MIN_FREE_DISK_MIB: '999000000' });
    onTestFinished(() => {
      starting.kill();
    });
    let screen = '';
    starting.stdout.setEncoding('utf8').on('data', (text: string) => (screen += text));
    const why = /wait for free disk space: .*, of the 999000000 MiB in MIN_FREE_DISK_MIB/;
    const url = await waitFor(() => /http:\S+(?=\/readyz)/.exec(screen)?.[0], {
      what: 'the worker is ready',
    });
    // In lines of 80 columns.
    const said = () => screen.replaceAll(/\s+/g, ' ');
    await waitFor(() => said().includes('in MIN_FREE_DISK_MIB'), { what: 'all is said' });
    expect(said()).toMatch(new RegExp(`downloads ${why.source}`));
    expect(await readiness(url)).toEqual({
      httpStatus: 200,
      status: 'ready',
      postgres: 'ok',
      event_store: 'ok',
      nats: 'ok',
      downloads: expect.stringMatching(why) as string,
    });
  });
});
