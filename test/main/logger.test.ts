import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { startOnTerminal } from '../support/service.ts';

const logger = fileURLToPath(new URL('../../src/main/logger.ts', import.meta.url));

/** A program that logs something, once with each of these facts. */
const logging = (facts: readonly string[], role: string) => [
  ...[process.execPath, '--input-type=module', '-e'],
  `const { createServiceLog } = await import("${logger}");` +
    `const { logger } = createServiceLog({ LOG_LEVEL: "info" }, "${role}");` +
    `for (const facts of [${facts.join()}]) logger.error(facts, "something went wrong");`,
];

/** What a program of its own writes to standard error, into a pipe. */
async function inPipe(...facts: string[]): Promise<string> {
  const [node = '', ...more] = logging(facts, 'test');
  return await text(spawn(node, more, { stdio: ['ignore', 'inherit', 'pipe'] }).stderr);
}

const onTerminal = (...facts: string[]) => onTerminalOf('test', facts);

async function onTerminalOf(role: string, facts: readonly string[]): Promise<string> {
  const { code, screen } = startOnTerminal(logging(facts, role), {});
  expect(await code).toBe(0);
  return screen();
}

const withSecrets = [
  { authorization: 'a-secret' },
  { headers: { authorization: 'a-secret', cookie: 'a-secret' } },
  { req: { headers: { authorization: 'a-secret', cookie: 'a-secret' } } },
  { key: 'a-secret', secret: 'a-secret', password: 'a-secret' },
  { url: 'https://example.com/a-secret', download_url: 'https://example.com/a-secret' },
  { connectionString: 'postgres://a:a-secret@b', err: { connectionString: 'postgres://a:a-secret@b' } },
];

describe.each([
  ['in a pipe', inPipe],
  ['on a terminal', onTerminal],
])('%s', (_, logged) => {
  let lines: string[];
  beforeAll(async () => {
    const log = await logged(...withSecrets.map((facts) => JSON.stringify(facts)));
    lines = log.split('\n').filter((line) => line.includes('something went wrong'));
  });

  it.each(withSecrets)('secrets of %j never reach the log', (facts) => {
    const line = lines[withSecrets.indexOf(facts)];
    expect(line).toContain('[redacted]');
    expect(line).not.toContain('a-secret');
  });
});

it('is JSON in a pipe', async () => {
  const line = await inPipe('{ part: "NATS", seconds: 2 }');
  expect(JSON.parse(line)).toMatchObject({ level: 50, role: 'test', part: 'NATS', seconds: 2 });
});

describe('is text on a terminal', () => {
  const start = '\r\u001b[K';

  it('with the time, the level, the role and the facts', async () => {
    expect(await onTerminal('{ part: "NATS", seconds: 2, list: [1] }')).toMatch(
      /^\r\u001b\[K\d\d:\d\d:\d\d error: test: something went wrong \(part NATS, seconds 2, list \[1\]\)\n$/,
    );
    expect(await onTerminalOf('all', ['{}'])).toMatch(/\d error: something went wrong\n$/);
  });

  it('with the message of an error, and its stack below', async () => {
    const [line, next] = (await onTerminal('{ err: new Error("no room") }')).split('\n');
    expect(line).toMatch(/something went wrong \(error no room\)$/);
    expect(next).toMatch(/^ {4}at /);
  });

  it('that moves no cursor and hides nothing, whatever is logged', async () => {
    const line = await onTerminal('{ title: "a\\u001b[2Jb\\u009bc\\nd\\u202ee" }');
    expect(line.replace(start, '').trimEnd()).toMatch(/^[ -~]+$/);
    expect(line).toContain('(title a\\u001b[2Jb\\u009bc\\u000ad\\u202ee)');
  });
});
