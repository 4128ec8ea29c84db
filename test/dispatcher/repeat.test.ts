import { expect, it } from 'vitest';
import { repeat } from '../../src/dispatcher/repeat.ts';
import { Outage } from '../../src/ports/outage.ts';
import { rememberingLogger } from '../projections/read-models-under-test.ts';
import { jsonLines } from '../support/log-lines.ts';
import { waitFor } from '../support/wait-for.ts';

it('a loop whose rounds fail is two lines, with what failed and how often', async () => {
  const { logger, text } = rememberingLogger();
  const outage = new Outage('a loop', logger);
  let rounds = 0;
  const round = () => {
    rounds += 1;
    if (rounds <= 10) throw new Error('the server is away');
    // One of several things that the round does: the round itself goes on.
    if (rounds <= 15) outage.failed('a piece', undefined);
    return Promise.resolve();
  };
  const loop = repeat(round, { everyMs: 1, outage });
  await waitFor(() => rounds >= 20, { what: 'rounds that work again' });
  await loop.stop();
  expect(jsonLines(text())).toMatchObject([
    { level: 40, part: 'a loop', what: 'a round', err: { message: 'the server is away' } },
    { level: 40, part: 'a loop', msg: 'a part is back', failures: { 'a round': 10, 'a piece': 5 } },
  ]);
});
