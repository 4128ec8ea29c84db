import { z } from 'zod';
import {
  maxSearchCharacters,
  search as searchReadModels,
  type SearchHit,
  searchHitKinds,
} from '../../../../projections/queries/search-by-id-or-number.ts';
import { accountPath, correctionPath, documentPath, downloadPath, eventPath } from '../addresses.ts';
import type { JsonView } from '../view.ts';

const limit = 20;

const input = z.object({
  search: z
    .string()
    .trim()
    .min(1, 'is empty')
    .max(maxSearchCharacters, 'is too long')
    .describe(
      'A token, an account, an API key or its beginning, an e-mail address, the address or id of a video, the number of an invoice or a credit note, a request, an event, an idempotency key, or the reference of a correction.',
    ),
});

const hit = z.strictObject({
  kind: z.enum(searchHitKinds).describe('What the text stands for.'),
  id: z.string().nullable().describe('Id in its kind: of an event, an API key, a person or a correction.'),
  account_id: z.string().nullable(),
  token: z.string().nullable().describe('The download, if it is about one.'),
  label: z.string().nullable().describe('What it is in a few words.'),
  time: z.iso.datetime().nullable().describe('In UTC.'),
  path: z.string().describe('The page of the staff console about it.'),
});
export type Hit = z.infer<typeof hit>;

const shown = z.strictObject({
  hits: z.array(hit).describe('The newest first.'),
  more: z.boolean().describe(`There are more than ${String(limit)} of a kind: only the newest are here.`),
});
export type SearchResult = z.infer<typeof shown>;

export const search: JsonView<z.infer<typeof input>, SearchResult> = {
  operationId: 'search',
  summary: 'Everything that a text stands for',
  input,
  shown,
  read: async ({ pool, macs, samplePlatformOrigin }, { search: text }) => {
    const found = await searchReadModels({ client: pool, macs, platforms: { samplePlatformOrigin } }, text, { limit });
    const counts = new Map<string, number>();
    const hits = found.filter(({ kind }) => {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return (counts.get(kind) ?? 0) <= limit;
    });
    return { hits: hits.map((each) => ({ ...each, path: pathOf(each) })), more: hits.length < found.length };
  },
  accessRecords: ({ hits }) => {
    const accounts = new Set(hits.flatMap(({ account_id: accountId }) => accountId ?? []));
    return [...accounts].map((accountId) => ({ accountId, token: null, page: 'search' }));
  },
};

function pathOf({ kind, id, account_id: accountId, token }: SearchHit): string {
  const account = accountPath(accountId ?? '');
  switch (kind) {
    case 'account':
    case 'person':
      return account;
    case 'api_key':
      return `${account}#${id ?? ''}`;
    case 'document': {
      const [type, number] = (id ?? '').split(' ');
      return documentPath(type as 'InvoiceIssued' | 'CreditNoteIssued', {
        accountId: accountId ?? '',
        number: Number(number),
      });
    }
    case 'correction':
      return correctionPath(id ?? '');
    case 'event':
      return eventPath(id ?? '');
    case 'download':
    case 'idempotency_key':
      return downloadPath(token ?? '');
    case 'request':
    case 'reference':
      return token === null ? eventPath(id ?? '') : `${downloadPath(token)}#event-${id ?? ''}`;
  }
}
