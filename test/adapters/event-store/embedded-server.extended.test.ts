import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { EventStoreDBClient } from '@eventstore/db-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAlive, waitUntilGone } from '../../embedded/owned.ts';
import { startEventStore } from '../../support/event-store.ts';
import { errorOf, testEvent } from '../../support/event-store-under-test.ts';
import { canMountSmallDisk, mountSmallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitFor } from '../../support/wait-for.ts';

const ENTRY = fileURLToPath(new URL('../../../src/embedded/event-store/main.ts', import.meta.url));

interface Run {
  child: ChildProcess;
  /** Both outputs, as far as they have come. */
  said: () => string;
  ended: Promise<number | null>;
}

function run(...args: string[]): Run {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ENTRY, ...args]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, said: () => output, ended };
}

/** The words of a server that does not start. */
async function refusalOf(...args: string[]): Promise<string> {
  const server = run(...args);
  expect(await server.ended).toBe(1);
  return server.said();
}

const listening = (server: Run): Promise<string> =>
  waitFor(() => /"listening":"([^"]+)"/.exec(server.said())?.[1], { what: 'the server listens' });

describe('the embedded server refuses to start', () => {
  test('on a folder that another server has open, naming it', async () => {
    const directory = temporaryDirectory();
    await listening(run('--data', directory));
    expect(await refusalOf('--data', directory)).toContain(`Another event store has the log in ${directory} open`);
  });

  test('on a log of another format, naming it', async () => {
    const directory = temporaryDirectory();
    const database = new DatabaseSync(join(directory, 'events.sqlite'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    expect(await refusalOf('--data', directory)).toContain(`The log in ${directory} has format 99`);
  });

  test('on a file that is no log', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'events.sqlite'), 'this is no database, and long enough to be looked at '.repeat(20));
    expect(await refusalOf('--data', directory)).toContain(`Cannot open the log in ${directory}`);
  });

  test('on a folder that cannot be one', async () => {
    const directory = join(temporaryDirectory(), 'file');
    writeFileSync(directory, '');
    expect(await refusalOf('--data', directory)).toContain(directory);
  });

  // Root may write anywhere.
  test.runIf(process.getuid?.() !== 0)('on a folder that it may not write', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'closed'), { mode: 0o500 });
    expect(await refusalOf('--data', join(directory, 'closed'))).toContain(join(directory, 'closed'));
  });

  test('on a port that is taken', async () => {
    const { port } = new URL(await listening(run('--data', temporaryDirectory())));
    expect(await refusalOf('--data', temporaryDirectory(), '--port', port)).toContain(
      `Cannot listen on 127.0.0.1:${port}`,
    );
  });

  test.runIf(canMountSmallDisk)('where the kernel does not tell who connects', async () => {
    const { inside } = await mountSmallDisk(1);
    const server = [process.execPath, ENTRY, '--data', temporaryDirectory()];
    const [program = '', ...words] = inside(['sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh', ...server]);
    const child = spawn(program, words);
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(said).toMatch(/event-store: Cannot tell which user of this machine connects: .*\. Set EVENTSTORE_URL /);
  });

  test('without a folder, or on a port that is none', async () => {
    expect(await run().ended).toBe(1);
    expect(await run('--data', temporaryDirectory(), '--port', '70000').ended).toBe(1);
  });
});

describe('the embedded server ends with 0', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('at %s', async (signal) => {
    const server = run('--data', temporaryDirectory());
    await listening(server);
    server.child.kill(signal);
    expect(await server.ended).toBe(0);
  });

  test('at SIGTERM with a subscription and an append stream open', async () => {
    const server = run('--data', temporaryDirectory());
    const client = EventStoreDBClient.connectionString(await listening(server));
    await client.appendToStream('some', testEvent('a'));
    const subscription = client.subscribeToAll();
    const failed = errorOf(once(subscription, 'end'));
    await once(subscription, 'caughtUp');
    server.child.kill('SIGTERM');
    expect(await failed).toMatchObject({ type: 'unavailable' });
    expect(await server.ended).toBe(0);
    await client.dispose();
  });

  test('when its standard input ends, and not at SIGINT, where it is told so', async () => {
    const server = run('--data', temporaryDirectory(), '--until-stdin-ends');
    const client = EventStoreDBClient.connectionString(await listening(server));
    server.child.kill('SIGINT');
    await client.appendToStream('some', testEvent('a'));
    expect(server.child.exitCode).toBeNull();
    server.child.stdin?.end();
    expect(await server.ended).toBe(0);
    await client.dispose();
  });

  test('after --help, which names every option', async () => {
    const help = run('--help');
    expect(await help.ended).toBe(0);
    for (const option of ['--data', '--port', '--until-stdin-ends']) expect(help.said()).toContain(option);
  });
});

describe('the launcher', () => {
  test('says what went wrong', async () => {
    const directory = temporaryDirectory();
    const first = await startEventStore({ dataDirectory: directory });
    onTestFinished(() => first.stop());
    const error = await errorOf(startEventStore({ dataDirectory: directory }));
    expect(error.message).toContain(`Another event store has the log in ${directory} open`);
  });

  test('gives the same log again, and can stop twice', async () => {
    const directory = temporaryDirectory();
    const first = await startEventStore({ dataDirectory: directory });
    await first.stop();
    await first.stop();
    const second = await startEventStore({ dataDirectory: directory });
    await second.stop();
  });

  test('leaves no server behind when its process is killed', async () => {
    const launcher = fileURLToPath(new URL('./launch-and-hang.ts', import.meta.url));
    const parent = spawn(process.execPath, [launcher, temporaryDirectory()], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(chunk.toString());
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await waitUntilGone(pid);
  });
});
