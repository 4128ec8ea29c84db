import { beforeAll, describe, expect, it } from 'vitest';
import { periodMoney } from '../../projections/period-money.ts';
import { listMoneyEvents } from '../../projections/queries/money-events.ts';
import { readMonthClose } from '../../projections/queries/month-close.ts';
import { Random } from '../audit/random.ts';
import { logUnderTest } from '../commands/log-under-test.ts';
import { closesOfMonth } from './closes-of-month.ts';
import { type CorrectedAccount, storeCorrectedAccount } from './corrected-account.ts';
import { readModelsOfFile } from './read-models-under-test.ts';

const log = logUnderTest();
const models = readModelsOfFile(log, periodMoney);
/** More than one reading of the log, and one page of a table, holds. */
const manyCorrections = 1_050;
let corrected: CorrectedAccount;

beforeAll(async () => {
  corrected = await storeCorrectedAccount(log.store, new Random(1), {
    openedAt: '2024-05-03T10:00:00.000Z',
    corrections: manyCorrections,
  });
  await models.caughtUp();
});

describe('the close of a month', () => {
  it('of more than a thousand corrections, before the closing and after, loses none of them', async () => {
    const { accountId, waivedCents, creditedCents } = corrected;
    const [close] = await closesOfMonth(models.pool, '2024-05');
    expect(close).toMatchObject({
      account_id: accountId,
      phase: 'closed',
      charged_cents: manyCorrections * 25,
      waived_cents: waivedCents,
      credited_overage_cents: creditedCents,
      difference_cents: 0,
      not_invoiced: [],
    });
    const { totals } = await readMonthClose(models.pool, '2024-05');
    expect(totals).toMatchObject({
      due_cents: close!.fee_cents + manyCorrections * 25 - waivedCents,
      result_cents: totals.invoiced_cents - creditedCents,
      not_invoiced_cents: 0,
    });
    const events = new Map<string, number>();
    for await (const { name } of listMoneyEvents(log.store, close!)) events.set(name, (events.get(name) ?? 0) + 1);
    expect([events.get('charged_cents'), events.get('waived_cents'), events.get('credited_overage_cents')]).toEqual([
      ...[manyCorrections, manyCorrections, manyCorrections],
    ]);
  });
});
