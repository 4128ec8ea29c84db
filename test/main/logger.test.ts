import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const logger = fileURLToPath(new URL('../../src/main/logger.ts', import.meta.url));

/** Has a process of its own log something. @returns its standard error */
async function logged(facts: object): Promise<string> {
  const program = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    createLogger({ LOG_LEVEL: 'info' }, 'test', 'info').error(${JSON.stringify(facts)}, 'something went wrong');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  return await text(child.stderr);
}

test.each([
  { authorization: 'a-secret' },
  { headers: { authorization: 'a-secret', cookie: 'a-secret' } },
  { req: { headers: { authorization: 'a-secret', cookie: 'a-secret' } } },
  { key: 'a-secret', secret: 'a-secret', password: 'a-secret' },
  { url: 'https://example.com/a-secret', download_url: 'https://example.com/a-secret' },
  { connectionString: 'postgres://a:a-secret@b', err: { connectionString: 'postgres://a:a-secret@b' } },
])('secrets of %j never reach the log', async (facts) => {
  const line = await logged(facts);
  expect(line).toContain('something went wrong');
  expect(line).toContain('[redacted]');
  expect(line).not.toContain('a-secret');
});
