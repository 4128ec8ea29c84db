import type { EventStore } from '../../src/ports/event-store.ts';
import type { Random } from './random.ts';
import { RichHistory } from './rich-history.ts';

/** A history with everything there is: what the audit finds nothing in, and lies are told in. */

export const firstOpenedAt = '2024-01-31T10:00:00.000Z';
const openedAt = [firstOpenedAt, '2024-01-30T23:59:59.999Z', '2024-02-01T00:00:00.000Z'];
/** In the last period of each account, long enough behind everything that the service should have done something about it. */
export const auditedAt = '2024-04-15T00:00:00.000Z';

export async function writeAuditedHistory(
  store: Pick<EventStore, 'append'>,
  random: Random,
  { accounts, actsEach = 40 }: { accounts: number; actsEach?: number },
): Promise<void> {
  let first: RichHistory | undefined;
  for (let account = 0; account < accounts; account += 1) {
    const history = new RichHistory(store, random, openedAt[account % openedAt.length] ?? firstOpenedAt);
    await history.live(2, actsEach, { closes: account % 2 === 1 });
    first ??= history;
    if (account > 0) continue;
    await history.acknowledge();
    await history.nameIssuer();
    await history.employStaff();
  }
  await first?.signFirstInvoice();
}
