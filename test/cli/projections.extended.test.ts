import type pg from 'pg';
import { beforeAll, expect, it } from 'vitest';
import { projections } from '../../projections/all.ts';
import { queue } from '../support/downloads.ts';
import { installationOfFile } from '../support/installation.ts';
import { planFile } from '../support/plans.ts';
import { withClient } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectRefusal, within } from './command-line.ts';

/** Two downloads: one that the read models have seen, and one queued after the projector was killed. */
const installation = installationOfFile({
  PLANS_FILE: planFile({ downloads_limit: 0, overage_cents: 5, fee_cents: 1 }),
});
let accountId: string;
let seen: string;
let unseen: string;

interface Status {
  projector: string;
  head: string;
  projections: { name: string; position: string; lag: number; events_per_second: number }[];
}

beforeAll(async () => {
  const projector = await installation.startRole('projector');
  const api = await installation.startRole('api');
  const { key, ...opened } = await installation.openAccount();
  ({ accountId } = opened);
  const body = { url: installation.sampleUrl('bars') };
  ({ request_token: seen } = await queue(api.url, key, body));
  await installation.cli(['ledger', 'show', accountId]);
  await installation.cli(['jobs', 'timeline', seen]);
  await projector.kill();
  ({ request_token: unseen } = await queue(api.url, key, body));
});

const run = (...words: string[]) => within(installation.environment)(...words);
const names = projections.map(({ name }) => name);

it('without a projector, every answer from a read model says that it is behind', async () => {
  // Side by side, because each waits in vain for the read models.
  const [timeline, unknown, ledger, status, text] = await Promise.all([
    run('jobs', 'timeline', seen, '--json'),
    run('jobs', 'timeline', unseen),
    run('ledger', 'show', accountId, '--json'),
    installation.cli<Status>(['projections', 'status']),
    run('projections', 'status'),
  ]);
  expect(timeline).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^reeltally: .* behind the log: .*\n$/) as string,
  });
  const { behind, rows } = JSON.parse(timeline.stdout) as { behind: boolean; rows: { type: string }[] };
  expect([behind, ...rows.map(({ type }) => type)]).toEqual([true, 'OverageCharged', 'DownloadQueued']);
  expectRefusal(unknown, /no job \S+ in the timeline yet, which is behind the log/, 2);

  expect(ledger.code).toBe(2);
  expect(ledger.stderr).toMatch(/the ledger is behind the log, which has 2 charges, \$0\.10 in all now/);
  expect(JSON.parse(ledger.stdout)).toMatchObject({
    total_cents: 5,
    behind: true,
    rows: [{ token: seen }],
    log: { total_cents: 10, charges: 2 },
  });

  expect(status.projector).toBe('away');
  expect(status.projections.map(({ name }) => name)).toEqual(names);
  for (const { name, position, lag, events_per_second: rate } of status.projections) {
    expect(rate).toBe(0);
    // Charge and job, two events of a usage stream, which concern all of them but five.
    if (['invoices', 'document_mails', 'people', 'corrections', 'staff'].includes(name)) expect(lag).toBe(0);
    else expect({ name, lag, head: Number(position) + lag }).toEqual({ name, lag: 2, head: Number(status.head) });
  }
  expect(text.stdout).toMatch(/^projector {2}away: no process has the role, nothing is projected\n/);
  expect(text.stdout).toMatch(/\njob_timeline +\d+ +2 +0 +stands still\n/);
});

it('with a projector again, they are as the log', async () => {
  await installation.startRole('projector');
  const timeline = await installation.cli<{ behind: boolean; rows: unknown[] }>(['jobs', 'timeline', unseen]);
  expect([timeline.behind, timeline.rows.length]).toEqual([false, 2]);
  expect(await installation.cli(['ledger', 'show', accountId])).toMatchObject({ total_cents: 10, behind: false });
  const status = await installation.cli<Status>(['projections', 'status']);
  expect(status.projector).toBe('running');
  expect(status.projections.map(({ name, lag }) => [name, lag])).toEqual(names.map((name) => [name, 0]));
});

interface RebuiltAll {
  projections: { name: string; position: string; before: string; events: number; identical: boolean }[];
}

const onPostgres = <Result>(work: (client: pg.Client) => Promise<Result>) =>
  withClient(installation.environment.DATABASE_URL, work);

/** Every checkpoint, the dispatcher's included, as if the log had been longer. */
const pretendLongerLog = (position: string) =>
  onPostgres(async (client) => {
    await client.query("insert into checkpoints (name) values ('dispatch') on conflict do nothing");
    await client.query('update checkpoints set position = $1', [position]);
  });

const readDispatched = () =>
  onPostgres(async (client) => {
    const text = "select position from checkpoints where name = 'dispatch'";
    return (await client.query<{ position: string }>(text)).rows[0]?.position;
  });

it('all are rebuilt together, with one document for a program and no word beside it', async () => {
  const { code, stdout, stderr } = await run('projections', 'rebuild', 'all', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { projections: rebuilt } = JSON.parse(stdout) as RebuiltAll;
  expect(rebuilt.map(({ name, identical }) => [name, identical])).toEqual(names.map((name) => [name, true]));
  // Nobody is of staff here.
  const concerned = rebuilt.filter(({ name }) => name !== 'staff' && name !== 'corrections');
  for (const { events } of concerned) expect(events).toBeGreaterThan(0);
  const text = await run('projections', 'rebuild', 'all');
  for (const name of names) expect(text.stdout).toContain(`${name} is rebuilt from`);
  expect(text.stderr).toMatch(/^all {2}100 % {2}\d+ events {2}\d+\/s$/m);
});

it('where they stand beyond the log, a rebuild refuses until it is told to give that up', async () => {
  const beyond = '900000000000';
  await pretendLongerLog(beyond);
  expectRefusal(
    await run('projections', 'rebuild', 'all'),
    /beyond the end of the log .*--from-older-log gives that up/,
  );
  const { code, stdout, stderr } = await run('projections', 'rebuild', 'all', '--from-older-log', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { projections: rebuilt } = JSON.parse(stdout) as RebuiltAll;
  const { head } = await installation.cli<Status>(['projections', 'status']);
  expect(rebuilt.map(({ name, before, position }) => ({ name, before, position }))).toEqual(
    names.map((name) => ({ name, before: beyond, position: head })),
  );
  // The dispatcher goes on from there too, and the runners by themselves.
  expect(await readDispatched()).toBe(head);
  await installation.cli(['accounts', 'cap', accountId, '100']);
  await waitFor(
    async () => {
      const { projections } = await installation.cli<Status>(['projections', 'status']);
      return projections.every(({ lag }) => lag === 0);
    },
    { what: 'the read models to follow' },
  );
});
