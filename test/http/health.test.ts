import { describe, expect, it, onTestFinished } from 'vitest';
import { clockOffset } from '../support/clock-offset.ts';
import { spawnCommand } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { ownService } from './shared-service.ts';

const service = ownService();

describe('health checks', () => {
  it('/healthz says that the process turns, without a key', async () => {
    const response = await fetch(`${service.url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('/readyz says what it depends on', async () => {
    const response = await fetch(`${service.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'ready', postgres: 'ok', event_store: 'ok', nats: 'ok' },
    ]);
  });

  it('answer HEAD as GET, without a body, in every role', async () => {
    await using projector = await service.startRole('projector');
    for (const address of [service.url, projector.url].flatMap((url) => [`${url}/healthz`, `${url}/readyz`])) {
      const [get, head] = [await fetch(address), await fetch(address, { method: 'HEAD' })];
      const told = ({ status, headers }: Response) => [
        status,
        headers.get('content-type'),
        headers.get('content-length'),
      ];
      expect([address, ...told(head)]).toEqual([address, ...told(get)]);
      expect([head.status, await head.text()]).toEqual([200, '']);
      await get.body?.cancel();
    }
  });

  it('a role without an API listens for them too, and shows a clock that was shifted', async () => {
    await using projector = await service.startRole('projector', clockOffset(86_400));
    const response = await fetch(`${projector.url}/readyz`);
    expect(await response.json()).toMatchObject({ status: 'ready', clock_offset_seconds: '86400' });
    const api = await fetch(`${projector.url}/api/v1/credits`);
    expect(api.status).toBe(404);
    await api.body?.cancel();
  });

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
    const response = await fetch(`${url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        status: 'ready',
        postgres: 'ok',
        event_store: 'ok',
        nats: 'ok',
        downloads: expect.stringMatching(why) as string,
      },
    ]);
  });
});
