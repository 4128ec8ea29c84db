import { expect, it, onTestFinished } from 'vitest';
import { corrections } from '../../projections/corrections.ts';
import { type CarryOutLoop, startCarryingOutCorrections } from '../../src/dispatcher/carry-out-corrections.ts';
import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { EventStoreUnavailable } from '../../src/ports/event-store.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { chargedAccount, correctionsOf, desk, hireTeam, waive } from '../commands/corrections-under-test.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { changedLog, noteReads } from '../commands/noted-reads.ts';
import { midNovember } from '../commands/usage-account.ts';
import { token, waiveCommand } from '../domain/usage-examples.ts';
import { readModelsOfFile, rememberingLogger, silent } from '../projections/read-models-under-test.ts';
import { accepted } from '../support/accepted.ts';
import { waitFor } from '../support/wait-for.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, corrections);

function start({ store = log.store, logger = silent, setAsideMs = 50 }: Partial<CarryOutLoop> = {}): {
  stop: () => Promise<void>;
} {
  const dependencies = { store, pool: models.pool, logger, newUuid, now: () => midNovember };
  const loop = startCarryingOutCorrections({ ...dependencies, everyMs: 10, setAsideMs });
  onTestFinished(() => loop.stop());
  return loop;
}

it('what a crash left after the permission is carried out once, also by two at a time; what waits is left alone', async () => {
  const team = await hireTeam(log.store);
  const account = await chargedAccount(log.store, 4);
  const { ask, approve } = desk(log.store, account);
  accepted(await ask(team.fay, { correction: waive(account, 1) }));
  const approved = accepted(await ask(team.sue, { correction: waive(account, 2) }));
  accepted(await approve(team.flo, approved.correctionId));
  accepted(await ask(team.sue, { correction: waive(account, 3) }));
  accepted(await ask(team.fay, { correction: waive(account, 4) }));
  await correct(log.store, account.stream, waiveCommand(token(4), 'OTHER'));
  await models.caughtUp();
  start();
  start();
  const endsOf = async () => {
    const events = (await correctionsOf(log.store, account)).map(({ event: { type } }) => type);
    return events.filter((type) => type === 'CorrectionMade' || type === 'CorrectionFailed').sort();
  };
  await waitFor(async () => (await endsOf()).length === 3, { what: 'all permitted corrections to end' });
  expect(await endsOf()).toEqual(['CorrectionFailed', 'CorrectionMade', 'CorrectionMade']);
  const usage = (await log.store.read(account.stream, 0)).map(parseUsageEvent);
  const waived = usage.flatMap(({ event }) => (event.type === 'ChargeWaived' ? [event.data.token] : []));
  expect(waived.sort()).toEqual([token(1), token(2), token(4)]);
});

/** As a crash leaves it. */
async function permitted() {
  const account = await chargedAccount(log.store, 1);
  const { fay } = await hireTeam(log.store);
  const { correctionId } = accepted(await desk(log.store, account).ask(fay, { correction: waive(account, 1) }));
  await models.caughtUp();
  const isMade = async () =>
    (await correctionsOf(log.store, account)).some(({ event: { type } }) => type === 'CorrectionMade');
  return { account, correctionId, isMade };
}

it('the log is asked once whether it is there, before all that would wait for it in turn', async () => {
  const { account, isMade } = await permitted();
  const headPosition = () => Promise.reject(new EventStoreUnavailable('away'));
  const { store, reads } = noteReads(changedLog(log.store, { headPosition }));
  const { logger, text } = rememberingLogger();
  const loop = start({ store, logger });
  await waitFor(() => text().includes('EventStoreDB is away'), { what: 'a round that fails' });
  await loop.stop();
  expect(text()).toContain('"what":"a round"');
  expect(reads(`corrections-${account.accountId}`)).toEqual([]);
  start();
  await waitFor(isMade, { what: 'the correction to be made' });
});

it('a correction does not wait behind many that cannot be carried out', async () => {
  const { correctionId, isMade } = await permitted();
  // Older ones, which the log does not know.
  const others = `jsonb_build_object('correction_id', gen_random_uuid(), 'position', 0, 'account_id', 'acc_unknown')`;
  await models.pool.query(
    `insert into corrections
     select (jsonb_populate_record(c, ${others})).* from corrections c, generate_series(1, 501) where correction_id = $1`,
    [correctionId],
  );
  start({ setAsideMs: 60_000 });
  await waitFor(isMade, { what: 'the correction to be made' });
});
