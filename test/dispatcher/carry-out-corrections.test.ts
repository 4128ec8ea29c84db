import { expect, it, onTestFinished } from 'vitest';

import { parseUsageEvent } from '../../src/domain/parse-event.ts';
import { startCarryingOutCorrections } from '../../src/dispatcher/carry-out-corrections.ts';
import { newUuid } from '../../src/system/clock-and-chance.ts';
import { chargedAccount, correctionsOf, desk, hireTeam, waive } from '../commands/corrections-under-test.ts';
import { correct } from '../commands/keyed-downloads.ts';
import { accepted } from '../commands/staff-under-test.ts';
import { midNovember } from '../commands/usage-account.ts';
import { token } from '../domain/usage-examples.ts';
import { waitFor } from '../support/wait-for.ts';
import { corrections } from '../../projections/corrections.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { readModelsOfFile, silent } from '../projections/read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, corrections);

function start(): { stop: () => Promise<void> } {
  const dependencies = { store: log.store, pool: models.pool, logger: silent, newUuid, now: () => midNovember };
  const loop = startCarryingOutCorrections({ ...dependencies, everyMs: 10, setAsideMs: 50 });
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
  await correct(log.store, account.stream, { kind: 'waive_charge', token: token(4), reference: 'OTHER' });
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
