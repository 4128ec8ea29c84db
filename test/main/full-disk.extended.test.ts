import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { call } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { runCommand, startProcess } from '../support/service.ts';
import { canMountSmallDisk, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1) ?? '';

/** A service whose data folder is on a small disk; Postgres is elsewhere. */
async function environmentOn({ directory }: SmallDisk) {
  const database = await createDatabase();
  onTestFinished(() => database.drop());
  return { REELTALLY_DATA: `${directory}/data`, DATABASE_URL: database.url, MIN_FREE_DISK_MIB: '0' };
}

describe.runIf(canMountSmallDisk)('a full disk', () => {
  it('is the last thing that the service says, and the next start; nothing is lost', async () => {
    const disk = await mountSmallDisk(64);
    const environment = await environmentOn(disk);
    const start = async () => {
      const service = await startProcess('all', environment, disk.inside);
      onTestFinished(() => service.kill());
      return service;
    };
    const service = await start();
    const run = (...words: string[]) => runCommand([...words, '--json'], environment, disk.inside);
    const opened = await run('accounts', 'open', '--email', 'owner@example.com', '--plan', 'dev_100');
    const { account_id: account } = JSON.parse(opened.stdout) as { account_id: string };
    const issued = await run('keys', 'issue', account);
    const { key } = JSON.parse(issued.stdout) as { key: string };

    disk.fill();
    const isOver = async () => {
      await call(service.url, '/auth/key', { key, method: 'POST' }).catch(() => undefined);
    };
    await Promise.all([isOver(), service.ended]);
    expect(await service.ended).toBe(1);
    const full = `reeltally: The disk that holds ${environment.REELTALLY_DATA} is full`;
    const mend = 'free some space, and start again. No acknowledged data is lost.';
    const log = join(environment.REELTALLY_DATA, 'event-store/event-store.log');
    expect(lastLine(service.log())).toContain(full);
    expect(lastLine(service.log())).toContain(mend);
    expect(lastLine(service.log())).toContain(`see ${log}`);

    const refused = await runCommand(['serve', '--json'], environment, disk.inside);
    expect(refused.code).toBe(1);
    expect(lastLine(refused.stderr)).toContain(full);
    expect(lastLine(refused.stderr)).toContain(mend);

    disk.empty();
    const again = await start();
    expect((await call(again.url, '/credits', { key })).status).toBe(200);
  });
});
