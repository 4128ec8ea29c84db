import { expect, it } from 'vitest';
import { Metrics } from '../../../src/adapters/telemetry/metrics.ts';
import { rememberingLogger } from '../../projections/read-models-under-test.ts';

const { logger } = rememberingLogger();

it('leaves out what is not answered in time, counts that, and shows it again once it is answered', async () => {
  const metrics = new Metrics({ logger, timeLimitMs: 50 });
  const answers: PromiseWithResolvers<number>[] = [];
  metrics.collect('slow', { slow: { help: 'Answered late' } }, async () => {
    answers.push(Promise.withResolvers<number>());
    return [{ name: 'slow', value: (await answers.at(-1)?.promise) ?? 0 }];
  });
  metrics.collect('quick', { quick: { help: 'Answered at once', label: 'of' } }, () => [
    { name: 'quick', of: 'this', value: 1 },
  ]);
  const lines = async () => (await metrics.scrape()).text.split('\n').filter((line) => /^(slow|quick|reel)/.test(line));
  const failures = (slow: number) => [
    `reeltally_scrape_failures_total{group="slow"} ${slow}`,
    'reeltally_scrape_failures_total{group="quick"} 0',
  ];

  expect(await lines()).toEqual([...failures(1), 'quick{of="this"} 1']);
  // The first question is still open: it is not asked again, so that a part that is away is not asked more and more.
  expect(await lines()).toEqual([...failures(2), 'quick{of="this"} 1']);
  expect(answers).toHaveLength(1);

  answers[0]?.resolve(7);
  await new Promise(setImmediate);
  const again = lines();
  answers[1]?.resolve(8);
  expect(await again).toEqual([...failures(2), 'slow 8', 'quick{of="this"} 1']);
});

it('leaves out what fails, and what has nothing to say', async () => {
  const metrics = new Metrics({ logger });
  metrics.collect('away', { away: { help: 'Never there' } }, () => Promise.reject(new Error('away')));
  metrics.collect('silent', { silent: { help: 'Only of a leader' } }, () => []);
  const { text } = await metrics.scrape();
  expect(text).toContain('reeltally_scrape_failures_total{group="away"} 1');
  expect(text).toContain('reeltally_scrape_failures_total{group="silent"} 0');
  expect(text).not.toMatch(/^(away|silent)/m);
});

it('asks once for scrapes that come at the same time', async () => {
  const metrics = new Metrics({ logger });
  let asked = 0;
  metrics.collect('counted', { counted: { help: 'How often it was asked' } }, () => {
    asked += 1;
    return [{ name: 'counted', value: asked }];
  });
  const [first, second] = await Promise.all([metrics.scrape(), metrics.scrape()]);
  expect([first.text, asked]).toEqual([second.text, 1]);
});
