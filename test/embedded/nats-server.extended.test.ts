import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import { connectTo, startNatsServer } from '../support/nats.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { expectPortTaken, isAlive, killWithReaper, startOwner, untilTestEnds, waitUntilGone } from './owned.ts';

const launch = (dataDirectory: string) => untilTestEnds(launchNatsServer({ dataDirectory }));

async function publish(url: string): Promise<void> {
  const connection = await connectTo(url);
  const manager = await connection.jetstreamManager();
  await manager.streams.add({ name: 'KEPT', subjects: ['kept'] });
  await connection.jetstream().publish('kept', 'hello');
  await connection.close();
}

async function keptMessages(url: string): Promise<number> {
  const connection = await connectTo(url);
  try {
    return (await (await connection.jetstreamManager()).streams.info('KEPT')).state.messages;
  } finally {
    await connection.close();
  }
}

describe('an embedded nats-server', () => {
  it('keeps its messages from one start to the next', async () => {
    const directory = temporaryDirectory();
    const first = await launch(directory);
    await publish(first.url);
    expect((await first.stop()).signal).toBeNull();
    expect(isAlive(first.pid)).toBe(false);
    const second = await launch(directory);
    expect(await keptMessages(second.url)).toBe(1);
  });

  it('asks for a password that only this user can read', async () => {
    await using server = await startNatsServer();
    const url = new URL(server.url);
    expect(statSync(join(server.dataDirectory, 'password')).mode & 0o777).toBe(0o600);
    expect(statSync(join(server.dataDirectory, 'nats-server.conf')).mode & 0o777).toBe(0o600);
    expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain(url.password);
    url.password = 'wrong';
    await expect(connectTo(url.href)).rejects.toThrow(/Authorization/i);
  });

  it('says what to do when there is no nats-server', async () => {
    const launched = launchNatsServer({ dataDirectory: temporaryDirectory(), serverPath: '/nowhere/nats-server' });
    await expect(launched).rejects.toThrow('Set NATS_SERVER_PATH');
  });

  it('quotes its log when it cannot start', async () => {
    const launched = launchNatsServer({ dataDirectory: temporaryDirectory(), serverPath: process.execPath });
    await expect(launched).rejects.toThrow('bad option: --config');
  });

  it('says that the port is taken', async () => {
    await expectPortTaken((port) => launchNatsServer({ dataDirectory: temporaryDirectory(), port }));
  });

  it('ends with its owner, killed without warning, and starts again at once', async () => {
    const directory = temporaryDirectory();
    const owner = startOwner('nats-server', directory);
    const killed = await owner.ready;
    await publish(killed.url);
    await owner.kill();
    const server = await launch(directory);
    await waitUntilGone(killed.pid);
    expect(await keptMessages(server.url)).toBe(1);
  });

  it('is ended by the next start when its reaper was killed too', async () => {
    const directory = temporaryDirectory();
    const owner = startOwner('nats-server', directory);
    const left = await owner.ready;
    await publish(left.url);
    await killWithReaper(owner, left.pid);
    expect(isAlive(left.pid)).toBe(true);
    const server = await launch(directory);
    expect(isAlive(left.pid)).toBe(false);
    expect(await keptMessages(server.url)).toBe(1);
  });
});
