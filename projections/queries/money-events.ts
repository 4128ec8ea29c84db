import { invoicesStream } from '../../src/domain/invoice-events.ts';
import type { EventStore } from '../../src/ports/event-store.ts';
import { moneyChanges, type MoneyCounts, moneyCounts } from '../period-money.ts';

/** An event of the log and what it adds to one sum of a period's money. */
export interface MoneyEvent {
  name: keyof MoneyCounts;
  /** Cents; downloads for `charges`. */
  amount: number;
  type: string;
  stream: string;
  revision: number;
  event_id: string;
  /** UTC ISO-8601. */
  time: string;
}

const readAtOnce = 1_000;

/**
 * The events behind the money of one period, read from the log itself: those of its usage stream, then the account's invoices and
 * credit notes. Each sum of the read model is the sum of the events that are named for it here.
 *
 * @param period stream: its usage stream
 */
export async function* listMoneyEvents(
  store: Pick<EventStore, 'read'>,
  period: { account_id: string; period_start: string; stream: string },
): AsyncGenerator<MoneyEvent> {
  const changesOf = moneyChanges(store);
  for (const stream of [period.stream, invoicesStream(period.account_id)]) {
    for (let revision = 0; ; revision += readAtOnce) {
      const page = await store.read(stream, revision, readAtOnce);
      for (const recorded of page) {
        const changes = await changesOf(recorded);
        const { id: event_id, type, revision: at } = recorded;
        const { time } = recorded.metadata as { time: string };
        for (const change of changes) {
          if (change.period_start !== period.period_start) continue;
          for (const name of moneyCounts) {
            const amount = change[name] ?? 0;
            if (amount !== 0) yield { name, amount, type, stream, revision: at, event_id, time };
          }
        }
      }
      if (page.length < readAtOnce) break;
    }
  }
}
