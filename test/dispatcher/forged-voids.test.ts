import { describe, expect, it } from 'vitest';
import { createPendingVoids, measurePendingVoids, signOlderVoids } from '../../src/adapters/postgres/pending-voids.ts';
import { createRowMacs } from '../../src/adapters/postgres/row-macs.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { ask, downloadOf, freshToken, openUsage, writersOf } from '../commands/usage-account.ts';
import { rememberingLogger, testMacs, testSecrets } from '../projections/read-models-under-test.ts';
import { waitFor } from '../support/wait-for.ts';
import { chargeFor, promised, resolvingUnderTest } from './resolving.ts';

const { log, parts, appendOf, resolving, resolved, eventsIn } = resolvingUnderTest();

describe('a promise', () => {
  it('that this installation has not made is neither kept nor forgotten, whatever of it was changed', async () => {
    const { pool } = parts.models;
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const [mine, other] = [freshToken(), freshToken()];
    await ask(writersOf(log.store), account, downloadOf(other));
    const acknowledged = (await log.store.read(account.stream, 1)).map(({ id, type, data, metadata }) => ({
      id,
      type,
      data,
      metadata,
    }));
    const append = await appendOf(account, downloadOf(mine), { isStored: true });
    await parts.pendingVoids.add(append, chargeFor(mine));
    const genuine = (await pool.query<{ voids: object[] }>('select voids from pending_voids')).rows[0]?.voids[0];
    const forgeries: [what: string, row: Record<string, unknown>][] = [
      ['made up', { voids: [{ ...chargeFor(other), promised, mac: 'a'.repeat(81) }] }],
      ['without a MAC', { voids: [chargeFor(other)] }],
      ['of another charge', { voids: [{ ...genuine, token: other }] }],
      ['of another process', { voids: [{ ...genuine, promised: { ...promised, process: 'api test 2' } }] }],
      ['of another time', { voids: [{ ...genuine, promised: { ...promised, at: '2026-11-13T11:59:59.000Z' } }] }],
      ['of another append', { events: JSON.stringify(acknowledged), voids: [genuine] }],
      ['of another stream', { stream: 'usage-acc_a-20261101', voids: [genuine] }],
      ['of another revision', { expected_revision: 0, voids: [genuine] }],
      ['of another account', { account_id: 'acc_a', voids: [genuine] }],
    ];
    await pool.query('delete from pending_voids');
    for (const [, { voids, ...row }] of forgeries) {
      const all = {
        append_id: newUuid(),
        account_id: account.accountId,
        stream: account.stream,
        expected_revision: append.expected,
        events: JSON.stringify(append.events),
        ...row,
      };
      await pool.query(
        'insert into pending_voids (append_id, account_id, stream, expected_revision, events, voids) values ($1, $2, $3, $4, $5, $6)',
        [all.append_id, all.account_id, all.stream, all.expected_revision, all.events, JSON.stringify(voids)],
      );
    }
    const before = await log.store.read(account.stream, 0);
    const told: string[] = [];
    const { logger, text } = rememberingLogger();
    const macs = createRowMacs(testSecrets, { logger, observer: { rowNotBelieved: (table) => void told.push(table) } });
    const checking = createPendingVoids(pool, {
      storeOnStandby: parts.models.storeOnStandby,
      macs,
      process: promised.process,
      now: () => promised.at,
    });
    for (let round = 0; round < 3; round += 1) expect(await checking.list(1_000)).toEqual([]);
    expect(told).toEqual(forgeries.map(() => 'pending_voids'));
    expect(text().match(/is not believed/g)).toHaveLength(forgeries.length);
    // A genuine promise in the same row is kept, and goes alone.
    await pool.query('update pending_voids set append_id = $1 where voids = $2', [
      append.events[0]?.id,
      JSON.stringify([chargeFor(other)]),
    ]);
    await parts.pendingVoids.add(append, chargeFor(mine));
    const { became } = resolving();
    await waitFor(() => became.length === 1, { what: 'the genuine one to be kept' });
    const isGone = async () =>
      !(await pool.query<{ text: string }>('select voids::text as text from pending_voids')).rows.some(
        ({ text: voids }) => voids.includes(mine) && voids.includes(other),
      );
    await waitFor(isGone, { what: 'the genuine one to be forgotten' });
    const after = await log.store.read(account.stream, before.length);
    expect(after.map(({ type, data }) => [type, (data as { token: string }).token])).toEqual([
      ['DownloadVoided', mine],
    ]);
    expect(await measurePendingVoids(pool)).toMatchObject({ count: forgeries.length });
    await pool.query('delete from pending_voids');
  });

  it('of an older version is signed when the schema is brought up to date, and kept', async () => {
    const account = await openUsage(log.store, { downloads_limit: 0 });
    const jobToken = freshToken();
    const append = await appendOf(account, downloadOf(jobToken), { isStored: true });
    await parts.pendingVoids.add(append, chargeFor(jobToken));
    await parts.models.pool.query('update pending_voids set voids = $1', [JSON.stringify([chargeFor(jobToken)])]);
    expect(await parts.pendingVoids.list(1_000)).toEqual([]);
    await signOlderVoids(parts.models.pool, testMacs);
    resolving();
    await resolved(account.stream);
    expect((await eventsIn(account.stream)).at(-1)).toMatchObject({
      type: 'DownloadVoided',
      data: { token: jobToken, promised: { process: 'unknown' } },
    });
  });
});
