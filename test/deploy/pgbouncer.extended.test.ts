import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectRefusal, runIn, within } from '../cli/command-line.ts';
import { createBadlySetDatabase } from '../support/badly-set-database.ts';
import { call } from '../support/client.ts';
import { ended, queue } from '../support/downloads.ts';
import { isWithoutPgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { createMigratedDatabase } from '../support/postgres.ts';
import { startService } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { root } from '../tidy/source-files.ts';

/** The lines that the page for operators has. */
function documentedLines(): string[] {
  const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const lines = /```\n(pool_mode[^`]*)```/.exec(page)?.[1]?.trim().split('\n');
  if (!lines) throw new Error('docs/operations.md has no lines for pgbouncer.ini');
  return lines;
}

it.skipIf(isWithoutPgbouncer)(
  'the service works behind a pooler in session mode, with a role that is set badly',
  async () => {
    await using database = await createBadlySetDatabase();
    await using pooler = await startPgbouncer(database.url, documentedLines());
    await using service = await startService({ DATABASE_URL: pooler.url });
    // Whose hour is long enough for the polls on a slow machine.
    const account = await service.openAccount('enterprise');
    const queued = Array.from({ length: 4 }, async () => {
      const { request_token: token } = await queue(service.url, account.key, { url: service.sampleUrl('bars') });
      return await ended(service.url, account.key, token);
    });
    const asked = Array.from({ length: 20 }, () => call(service.url, '/credits', { key: service.demo?.key ?? '' }));
    expect((await Promise.all(queued)).map(({ status }) => status)).toEqual(Array(4).fill('done'));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    const run = within({ REELTALLY_DATA: service.dataDirectory });
    expect(await run('projections', 'rebuild', 'all')).toMatchObject({ code: 0 });
    expect(await run('ledger', 'verify', '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"verified"') as string,
    });
  },
);

it
  .skipIf(isWithoutPgbouncer)
  .for([
    ['pool_mode = transaction'],
    ['pool_mode = statement'],
    ['pool_mode = transaction', 'server_round_robin = 1', 'min_pool_size = 3'],
    ['server_reset_query = '],
  ])('no process and no command begins behind a pooler with %j', async (settings) => {
  await using database = await createMigratedDatabase();
  await using pooler = await startPgbouncer(database.url, settings);
  const environment = {
    REELTALLY_DATA: join(temporaryDirectory(), 'data'),
    REELTALLY_SECRET: 'a secret that is long enough for a test',
    EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
    DATABASE_URL: pooler.url,
    NATS_URL: 'nats://127.0.0.1:1',
  };
  const shares =
    /^reeltally: Postgres at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be used: the pooler before it lets connections share sessions: it needs pool_mode = session/;
  const run = runIn(environment);
  // A session that nobody resets is noticed by whoever has it next.
  if (settings.includes('server_reset_query = ')) await run('accounts', 'list');
  expectRefusal(await run('serve', '--role', 'projector'), shares);
  expectRefusal(await run('accounts', 'list'), shares);
});
