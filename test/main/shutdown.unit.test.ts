import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Shutdown } from '../../src/main/shutdown.ts';

it('a stop in the middle of a start lets the step under way end before it takes away what that stands on', async () => {
  const shutdown = new Shutdown(pino({ level: 'silent' }));
  const order: string[] = [];
  const part = (name: string) => async () => void order.push(`${name} stopped`);
  shutdown.add('engines', part('engines'));
  const { promise: connecting, resolve: connect } = Promise.withResolvers<undefined>();
  const start = async () => {
    await connecting;
    order.push('connected');
    shutdown.add('connections', part('connections'));
    order.push('never reached');
  };
  const stopping = shutdown.stop(start());
  expect(shutdown.abandoned.aborted).toBe(true);
  await nextTurn();
  expect(order).toEqual([]);
  connect(undefined);
  await stopping;
  expect(order).toEqual(['connected', 'connections stopped', 'engines stopped']);
});
