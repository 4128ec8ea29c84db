import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clockOffset } from '../support/clock-offset.ts';
import { readiness } from '../support/readiness.ts';
import type { ServiceProcess } from '../support/service.ts';
import { shareService } from './shared-service.ts';

const service = shareService();
/** A role without an API, with a clock that is a day ahead. */
let projector: ServiceProcess;

beforeAll(async () => {
  projector = await service.startRole('projector', clockOffset(86_400));
});
afterAll(() => projector.stop());

describe('health checks', () => {
  it('/healthz says that the process turns, without a key', async () => {
    const response = await fetch(`${service.url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('/readyz says what it depends on', async () => {
    expect(await readiness(service.url)).toEqual({
      httpStatus: 200,
      status: 'ready',
      postgres: 'ok',
      event_store: 'ok',
      nats: 'ok',
    });
  });

  it('answer HEAD as GET, without a body, in every role', async () => {
    for (const url of [service.url, projector.url]) await readiness(url);
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
    expect(await readiness(projector.url)).toMatchObject({ status: 'ready', clock_offset_seconds: '86400' });
    const api = await fetch(`${projector.url}/api/v1/credits`);
    expect(api.status).toBe(404);
    await api.body?.cancel();
  });
});

describe('X-Request-Id', () => {
  it('is on the answers of roles that serve health alone', async () => {
    const { headers } = await fetch(`${projector.url}/healthz`, { headers: { 'x-request-id': 'of-the-client' } });
    expect(headers.get('x-request-id')).toMatch(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/);
  });
});
