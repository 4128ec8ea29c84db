import { beforeAll, describe, expect, test } from 'vitest';
import { type Asked, call } from '../support/client.ts';
import { clockOffset } from '../support/clock-offset.ts';
import { installationOfFile } from '../support/installation.ts';
import { scaled } from '../support/proof-scale.ts';
import { waitFor } from '../support/wait-for.ts';

/** The end of a billing period, met by two API processes at once; real processes, their clock of periods moved on. */
const installation = installationOfFile();
beforeAll(() => installation.allowShiftedClock());

beforeAll(() => installation.startRole('projector'));

const daySeconds = 86_400;
const laterBy = (days: number) => clockOffset(days * daySeconds);

/** A process that is too busy refuses, says when to come again, and has charged nothing. */
const queueAt = (url: string, asked: Asked) =>
  waitFor(
    async () => {
      const { status, headers } = await call(url, '/video/download', asked);
      if (headers.has('retry-after')) return undefined;
      return status;
    },
    { what: 'an answer to a download' },
  );

describe('the first requests past the end of a period', () => {
  test('end it once and open the next once, and none is lost', async () => {
    const { accountId, key } = await installation.openAccount('enterprise');
    const now = await installation.startRole('api');
    const body = { url: installation.sampleUrl('private') };
    expect((await call(now.url, '/video/download', { key, body })).status).toBe(202);
    await now.stop();

    // Two months on, so that one idle period lies between.
    const apis = await Promise.all([
      installation.startRole('api', laterBy(65)),
      installation.startRole('api', laterBy(65)),
    ]);
    const before = await call(apis[0].url, '/credits', { key });
    expect(before.data['downloads']).toMatchObject({ used: 0 });
    const count = scaled(200, 400);
    const statuses = await Promise.all(
      Array.from({ length: count }, (_, index) => queueAt(apis[index % 2]?.url ?? '', { key, body })),
    );
    expect(statuses).toEqual(Array<number>(count).fill(202));
    for (const api of apis) {
      const { data } = await call(api.url, '/credits', { key });
      expect(data['downloads']).toMatchObject({ used: count });
      expect(data['period_start']).not.toBe(before.data['period_end']);
    }

    const events = await installation.readLog(`usage-${accountId}-`);
    const streams = [...new Set(events.map(({ stream }) => stream))];
    expect(streams).toHaveLength(3);
    const types = streams.map((stream) => events.filter((event) => event.stream === stream).map(({ type }) => type));
    expect(types[0]).toEqual(['UsagePeriodOpened', 'DownloadCreditDebited', 'DownloadQueued', 'UsagePeriodEnded']);
    expect(types[1]).toEqual(['UsagePeriodOpened', 'UsagePeriodEnded']);
    expect(types[2]?.[0]).toBe('UsagePeriodOpened');
    expect(types[2]?.filter((type) => type === 'DownloadQueued')).toHaveLength(count);
    expect(types[2]).toHaveLength(1 + 2 * count);
    const ended = events
      .filter(({ type }) => type === 'UsagePeriodEnded')
      .map(({ data }) => data as { next: { period_start: string } });
    const opened = events
      .filter(({ type }) => type === 'UsagePeriodOpened')
      .map(({ data }) => data as { period_start: string });
    expect(opened.slice(1).map(({ period_start }) => period_start)).toEqual(ended.map(({ next }) => next.period_start));
  });
});
