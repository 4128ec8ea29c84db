import { beforeAll, expect, it } from 'vitest';
import { carryOut } from '../../../src/console/staff/ask-correction.ts';
import { EventStoreUnavailable } from '../../../src/ports/event-store.ts';
import {
  chargedAccount,
  correctionsOf,
  desk,
  hireTeam,
  type Team,
  waive,
} from '../../commands/corrections-under-test.ts';
import { logUnderTest } from '../../commands/log-under-test.ts';
import { appendingBy } from '../../commands/noted-reads.ts';
import { staffDependencies } from '../../commands/staff-under-test.ts';
import { accepted } from '../../support/accepted.ts';

const log = logUnderTest();
let team: Team;
beforeAll(async () => {
  team = await hireTeam(log.store);
});

it('a correction that is recorded, and cannot be given back at the moment, stays permitted: no page says that nothing was changed', async () => {
  const account = await chargedAccount(log.store, 1);
  const { correctionId, accountId } = accepted(
    await desk(log.store, account).ask(team.fay, { correction: waive(account, 1) }),
  );
  const told: unknown[] = [];
  const part = { failed: (_: string, error: unknown) => told.push(error), works: () => undefined };
  const serviceParts = { of: () => part };
  const away = appendingBy(log.store, (stream, ...rest) => {
    if (stream === account.stream) throw new EventStoreUnavailable('a test');
    return log.store.append(stream, ...rest);
  });
  const by = (store: typeof log.store) => ({ ...staffDependencies(store), serviceParts }) as never;
  expect(await carryOut(by(away), { accountId, correctionId })).toBeUndefined();
  expect(told).toEqual([expect.any(EventStoreUnavailable)]);
  expect((await correctionsOf(log.store, account)).map(({ event }) => event.type)).toEqual(['CorrectionAsked']);
  expect(await carryOut(by(log.store), { accountId, correctionId })).toMatchObject({ status: 'made', madeCents: 25 });
});
