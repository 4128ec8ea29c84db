import { z } from 'zod';
import {
  maxSearchCharacters,
  search as searchReadModels,
  type SearchHit,
  searchHitKinds,
} from '../../../../projections/queries/search-by-id-or-number.ts';
import { accountPath, correctionPath, documentPath, downloadPath, eventPath } from '../addresses.ts';
import { type JsonView, listOf } from '../view.ts';
import { customer } from './overage.ts';

const [limit, limitOfKind] = [20, 100];

const input = z.object({
  search: z
    .string()
    .trim()
    .min(1, 'is empty')
    .max(maxSearchCharacters, 'is too long')
    .describe(
      'A token or its first ten characters, a link to a file, an account, a part of a name or the tax ID on invoices, an API key or its beginning, an e-mail address or its domain, the address or id of a video, the number of an invoice or a credit note, a request, an event, an idempotency key, or the reference of a correction.',
    ),
  kind: z.enum(searchHitKinds).optional().describe('Only hits of this kind.'),
});

const hit = z.strictObject({
  kind: z.enum(searchHitKinds).describe('What the text stands for.'),
  id: z.string().nullable().describe('Id in its kind: of an event, an API key, a person or a correction.'),
  account_id: z.string().nullable(),
  customer,
  token: z.string().nullable().describe('The download, if it is about one.'),
  label: z.string().nullable().describe('What it is in a few words.'),
  time: z.iso.datetime().nullable().describe('In UTC.'),
  path: z.string().describe('The page of the staff console about it.'),
});
export type Hit = z.infer<typeof hit>;

const shown = z.strictObject({
  kinds: listOf('The kinds that there are hits of, whichever is asked for.', {
    kind: z.enum(searchHitKinds),
    hits: z.int().describe(`At most ${String(limitOfKind)}.`),
  }),
  hits: z.array(hit).describe('The newest first.'),
  more: z
    .boolean()
    .describe(
      `There are more than ${String(limit)} of a kind, or more than ${String(limitOfKind)} of the one that is asked for: only the newest are here.`,
    ),
});
export type SearchResult = z.infer<typeof shown>;

export const search: JsonView<z.infer<typeof input>, SearchResult> = {
  operationId: 'search',
  summary: 'Everything that a text stands for',
  input,
  shown,
  read: async ({ pool, macs, samplePlatformOrigin }, { search: text, kind: wanted }) => {
    const platforms = { samplePlatformOrigin };
    const found = await searchReadModels({ client: pool, macs, platforms }, text, { limit: limitOfKind });
    const byKind = [...Map.groupBy(found, ({ kind }) => kind)].map(([kind, hits]) => ({ kind, hits }));
    const most = wanted === undefined ? limit : limitOfKind;
    const listed = byKind.filter(({ kind }) => wanted === undefined || kind === wanted);
    const shownOf = new Set(listed.flatMap(({ hits }) => hits.slice(0, most)));
    const hits = found.filter((each) => shownOf.has(each));
    return {
      kinds: byKind.map(({ kind, hits: all }) => ({ kind, hits: Math.min(all.length, limitOfKind) })),
      hits: hits.map((each) => ({ ...each, customer: null, path: pathOf(each) })),
      more: listed.some(({ hits: all }) => all.length > most),
    };
  },
  named: ({ hits }) => hits,
  accessRecords: ({ hits }) => {
    const accounts = new Set(hits.flatMap(({ account_id: accountId }) => accountId ?? []));
    return [...accounts].map((accountId) => ({ accountId, token: null, page: 'search' }));
  },
};

function pathOf({ kind, id, account_id: accountId, token }: SearchHit): string {
  const account = accountPath(accountId ?? '');
  switch (kind) {
    case 'account':
    case 'customer':
      return account;
    case 'person':
    case 'api_key':
      return `${account}?found=${id ?? ''}#${id ?? ''}`;
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
      return token === null ? eventPath(id ?? '') : `${downloadPath(token)}?at=${id ?? ''}#event-${id ?? ''}`;
  }
}
