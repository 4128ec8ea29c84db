import { expect, it } from 'vitest';
import { repeat } from '../../src/dispatcher/repeat.ts';
import { ServicePart } from '../../src/ports/service-parts.ts';
import { rememberingLogger } from '../projections/read-models-under-test.ts';
import { jsonLines } from '../support/log-lines.ts';
import { waitFor } from '../support/wait-for.ts';

it('a loop whose rounds fail is two lines, with what failed and how often', async () => {
  const { logger, text } = rememberingLogger();
  const part = new ServicePart('a loop', logger);
  let rounds = 0;
  const round = () => {
    rounds += 1;
    if (rounds <= 10) throw new Error('the server is away');
    // One of several things that the round does: the round itself goes on.
    if (rounds <= 15) part.failed('a piece', undefined);
    return Promise.resolve();
  };
  const loop = repeat(round, { everyMs: 1, part });
  await waitFor(() => rounds >= 20, { what: 'rounds that work again' });
  await loop.stop();
  expect(jsonLines(text())).toMatchObject([
    { level: 40, part: 'a loop', what: 'a round', err: { message: 'the server is away' } },
    { level: 40, part: 'a loop', msg: 'a part is back', failures: { 'a round': 10, 'a piece': 5 } },
  ]);
});
