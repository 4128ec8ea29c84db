import { describe, expect, it } from 'vitest';
import { shareService } from './shared-service.ts';

const service = shareService();

describe('health checks', () => {
  it('/healthz says that the process turns, without a key', async () => {
    const response = await fetch(`${service().url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  it('/readyz says what it depends on', async () => {
    const response = await fetch(`${service().url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'ready', postgres: 'ok', event_store: 'ok', nats: 'ok' },
    ]);
  });

  it('a role without an API listens for them too, and shows a clock that was shifted', async () => {
    await using projector = await service().startRole('projector', { REELTALLY_CLOCK_OFFSET_SECONDS: '86400' });
    const response = await fetch(`${projector.url}/readyz`);
    expect(await response.json()).toMatchObject({ status: 'ready', clock_offset_seconds: '86400' });
    const api = await fetch(`${projector.url}/api/v1/credits`);
    expect(api.status).toBe(404);
    await api.body?.cancel();
  });
});
