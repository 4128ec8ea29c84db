import { expect, it } from 'vitest';
import type { components } from '../../src/client/paths.ts';
import { call } from '../support/client.ts';
import { waitFor } from '../support/wait-for.ts';
import { noDownloads, shareService } from './shared-service.ts';

const service = shareService(noDownloads);

it('GET /documents goes on from a cursor until the last one', async () => {
  const { key, accountId } = await service.openAccount('enterprise');
  await service.cli('invoices', 'issue-due');
  const notes = 50;
  for (let at = 1; at <= notes; at += 1) {
    const of = ['--line', '1', '--cents', '1', '--reference', `CASE-${String(at)}`, '--reason', 'away', '--by', 'Ada'];
    await service.cli('invoices', 'credit', accountId, '1', ...of);
  }
  const documentsOf = async (query = '') => {
    const { data } = await call(service.url, `/documents${query}`, { key });
    return data as unknown as components['schemas']['Documents'];
  };
  const newest = async () => (await documentsOf()).documents[0];
  await waitFor(async () => (await newest())?.type === 'credit_note' && (await newest())?.number === notes, {
    what: 'all credit notes',
  });
  const first = await documentsOf();
  expect(first.documents.map(({ type, number }) => `${type} ${String(number)}`)).toEqual(
    Array.from({ length: notes }, (_, index) => `credit_note ${String(notes - index)}`),
  );
  const second = await documentsOf(`?after=${String(first.next)}`);
  expect(second.documents).toMatchObject([{ type: 'invoice', number: 1, left_cents: 49_900 - notes }]);
  expect(second.next).toBeNull();
});
