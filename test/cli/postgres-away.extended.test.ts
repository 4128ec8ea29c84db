import { it } from 'vitest';
import { installationOfFile } from '../support/installation.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectRefusal, within } from './command-line.ts';

/** Without a projector, a command asks Postgres again and again for rows that do not come, until Postgres is gone. */
const installation = installationOfFile();

async function losingPostgres(...words: string[]) {
  const { environment } = installation;
  await using proxy = await startPostgresProxy(environment.DATABASE_URL);
  const running = within({ ...environment, DATABASE_URL: proxy.url })(...words);
  await waitFor(() => proxy.roundTrips() > 45, { what: `${words.join(' ')} to be at work`, pollMs: 1 });
  proxy.setAway(true);
  return await running;
}

it('a command that loses Postgres says so in a sentence, and what it has recorded by then', async () => {
  const words = ['accounts', 'open', '--email', 'owner@example.com', '--plan', 'dev_100', '--json'];
  const { stdout } = await within(installation.environment)(...words);
  const { account_id: accountId } = JSON.parse(stdout) as { account_id: string };
  for (const asked of [
    ['accounts', 'usage', accountId],
    ['ledger', 'show', accountId],
    ['projections', 'rebuild', 'all'],
  ])
    expectRefusal(
      await losingPostgres(...asked),
      /^reeltally: Postgres at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be used: [^\n]+\n$/,
    );
  expectRefusal(
    await losingPostgres('keys', 'issue', accountId),
    /^reeltally: key_\w+ is recorded, not yet in force: /,
    2,
  );
});
