import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { collect, errorOf, eventStoreUnderTest, freshStream } from '../../support/event-store-under-test.ts';

const store = eventStoreUnderTest();
const APPENDER = fileURLToPath(new URL('./invalid-append.ts', import.meta.url));

/**
 * A server may answer an invalid append twice, of which the client dies; so each is sent by a process of its own, which prints
 * the type of the error that it got.
 */
async function typeOfError(how: string, stream: string): Promise<string> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', APPENDER, store.url, how, stream], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return output.trim();
}

test.each(['empty name', 'id that is no uuid', 'empty type'])(
  'an append with an %s is an unknown error',
  async (how) => {
    const stream = freshStream();
    expect(await typeOfError(how, stream)).toBe('unknown');
    expect(await errorOf(collect(store.client.readStream(stream)))).toMatchObject({ type: 'stream-not-found' });
  },
);
