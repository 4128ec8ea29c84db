import { hash } from 'node:crypto';
import { readDocumentNumber } from '../../src/domain/document-number.ts';
import { parseVideoUrl } from '../../src/domain/parse-video-url.ts';
import { mailbox } from '../../src/domain/people.ts';
import type { PlatformConfiguration } from '../../src/domain/platforms/platforms.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { macsOfName, macsOfTaxId } from '../customers.ts';
import { macsOfDomain } from '../people.ts';
import { type Bind, bindings, type Queryable } from '../runner/rows.ts';

/**
 * What staff find with one box: everything that a text may stand for, in one statement. Each kind of hit has an index, and at most
 * so many of each come back, the newest first.
 */
export const searchHitKinds = [
  'account',
  'customer',
  'api_key',
  'person',
  'download',
  'document',
  'request',
  'event',
  'idempotency_key',
  'correction',
  'reference',
] as const;
type SearchHitKind = (typeof searchHitKinds)[number];

export interface SearchHit {
  kind: SearchHitKind;
  account_id: string | null;
  /** The download, if it is about one. */
  token: string | null;
  /** Id in its kind: of an event, an API key, a person or a correction; `InvoiceIssued 12` for a document. */
  id: string | null;
  /** What it is in a few words that are no personal data: the type of an event, the prefix of a key, a video; what names a customer. */
  label: string | null;
  /** UTC ISO-8601. */
  time: string | null;
}

export interface SearchDependencies {
  client: Queryable;
  macs: RowMacs;
  platforms: PlatformConfiguration;
}

/** More characters are no search. */
export const maxSearchCharacters = 2_048;

/** @param limit of hits of each kind, and one more of a kind that has more */
export async function search(
  { client, macs, platforms }: SearchDependencies,
  text: string,
  { limit = 20 }: { limit?: number } = {},
): Promise<SearchHit[]> {
  const term = text.trim();
  if (term === '' || term.length > maxSearchCharacters) return [];
  const { values, bind: of } = bindings();
  const parts = partsOf(term, of, { macs, platforms }).map((part) => `(${part} limit ${of(limit + 1)})`);
  const { rows } = await client.query<SearchHit>(
    `select kind, account_id, token, id, label, time from (${parts.join('\nunion all\n')}) hits
     order by time desc nulls last, kind, id`,
    values,
  );
  return rows;
}

const hit = (kind: SearchHitKind, columns: Partial<Record<'account' | 'token' | 'id' | 'label' | 'time', string>>) => {
  const { account = 'null', token = 'null', id = 'null', label = 'null', time = 'null' } = columns;
  return `select '${kind}' as kind, ${account}::text as account_id, ${token}::text as token, ${id}::text as id,
                 ${label}::text as label, ${time}::timestamptz as time`;
};

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Tokens, references, request ids and idempotency keys. */
const oneWordPattern = /^[\x21-\x7e]{1,255}$/;
/** As in the path of a link to a file, or in an address of the API. */
const tokenInAddress = /(?<![\w-])[A-P][\w-]{31}(?![\w-])/g;
const beginningOfToken = /^[A-P][\w-]{9,30}$/;
const domainPattern = /^@?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]{2,})$/u;

/** The queries that a text may have an answer to. */
function partsOf(term: string, of: Bind, { macs, platforms }: Omit<SearchDependencies, 'client'>): string[] {
  const parsed = parseVideoUrl(term, platforms);
  const video = parsed.ok ? parsed.video : undefined;
  const tokens = /[/=]/.test(term) ? (term.match(tokenInAddress) ?? []) : [];
  const ofLink = tokens.length > 0 ? [`${downloadHit} where j.token = any(${of(tokens)})`] : [];
  if (video) return [ofVideo(of, video.videoId, video.platform), ...ofLink];
  const domain = domainPattern.exec(term)?.[1];
  const ofDomain = domain === undefined ? [] : [ofPeople(of, 'domain_mac', macsOfDomain(macs, domain))];
  if (term.includes('@'))
    return [...ofDomain, ofPeople(of, 'email_mac', macs.signUnderEach('people', mailbox(term))), ...ofWord(of, term)];
  const document = readDocumentNumber(term);
  return [
    ...ofLink,
    ...ofDomain,
    ...(document ? [ofDocument(of, document)] : []),
    ...(/^acc_/i.test(term) ? [ofAccount(of, term.toLowerCase())] : []),
    ...(term.startsWith('key_') ? [`${keyHit} where k.key_id = ${of(term)}`] : []),
    ...(term.startsWith('rtk_') && hasOwnPart(term) ? [ofKey(of, term)] : []),
    ...(uuidPattern.test(term) ? ofUuid(of, term.toLowerCase()) : []),
    ...(beginningOfToken.test(term) ? [ofTokenBeginning(of, term)] : []),
    ...ofWord(of, term),
    ofVideo(of, term),
    ...(tokens.length === 0 ? ofCustomer(of, term, macs) : []),
  ];
}

/** By a part of the name on invoices, or by the tax ID there. */
function ofCustomer(of: Bind, term: string, macs: RowMacs): string[] {
  const words = macsOfName(macs, term);
  const hitBy = (what: string) =>
    `${hit('customer', { account: 'c.account_id', id: 'c.account_id', label: `'${what}'` })} from customers c`;
  const has = (any: readonly string[]) => `c.words && ${of(any)}::text[]`;
  if (words.length === 0) return [];
  return [
    `${hitBy('name on invoices')} where ${words.map(has).join(' and ')}`,
    `${hitBy('tax ID')} where ${has(macsOfTaxId(macs, term))}`,
  ];
}

/** A token, the id of a request, an idempotency key or a reference. */
function ofWord(of: Bind, term: string): string[] {
  if (!oneWordPattern.test(term)) return [];
  return [
    `${downloadHit} where j.token = ${of(term)}`,
    // Charges of a request; its job came with it.
    `${ledgerHit('request')} where l.request_id = ${of(term)} order by l.position desc`,
    `${hit('idempotency_key', { account: 'k.account_id', token: 'k.token', id: 'k.token' })}
     from idempotency_keys k where k.key_hash = ${of(hash('sha256', term))}`,
    `${ledgerHit('reference')} where l.reference = ${of(term)} order by l.position desc`,
    `${documentHit}
     where i.type = 'CreditNoteIssued' and i.data->>'reference' = ${of(term)} order by i.position desc`,
    `${correctionHit} where c.reference = ${of(term)} order by c.position desc`,
  ];
}

const downloadColumns = {
  account: 'j.account_id',
  token: 'j.token',
  id: 'j.token',
  label: `j.platform || ' ' || j.video_id`,
  time: 'j.queued_at',
};
const downloadHit = `${hit('download', downloadColumns)} from jobs j`;

/** By the index of their first ten characters. */
const ofTokenBeginning = (of: Bind, term: string): string =>
  `${downloadHit} where left(j.token, 10) = ${of(term.slice(0, 10))} and starts_with(j.token, ${of(term)})`;

/** The account stands in the name of the stream. */
const ofVideo = (of: Bind, videoId: string, platform?: string): string =>
  `${hit('download', { account: `split_part(t.stream, '-', 2)`, token: 't.token', id: 't.token', label: `(t.data->>'platform') || ' ' || (t.data->>'video_id')`, time: 't.time' })}
   from job_timeline t
   where t.type = 'DownloadQueued' and t.data->>'video_id' = ${of(videoId)}
     ${platform === undefined ? '' : `and t.data->>'platform' = ${of(platform)}`}
   order by t.position desc`;

const ofAccount = (of: Bind, accountId: string): string =>
  `${hit('account', { account: 'h.account_id', id: 'h.account_id' })} from account_heads h where h.account_id = ${of(accountId)}`;

const keyColumns = { account: 'k.account_id', id: 'k.key_id', label: 'k.key_prefix', time: 'k.created_at' };
const keyHit = `${hit('api_key', keyColumns)} from api_keys k`;

const shortestPrefix = 4;
const longestPrefix = 24;

/** Without one, every key would begin so. */
const hasOwnPart = (term: string) => term.length > 'rtk_'.length;

/** A part of a key's shown beginning, or more of the key than is shown, as far as the whole key. */
function ofKey(of: Bind, term: string): string {
  const beginnings = Array.from({ length: longestPrefix - shortestPrefix + 1 }, (_, index) =>
    term.slice(0, shortestPrefix + index),
  );
  return `${keyHit}
   where k.key_prefix = any(${of([...new Set(beginnings)].filter(hasOwnPart))}::text[])
      or (k.key_prefix ~>=~ ${of(term)} and k.key_prefix ~<~ ${of(`${term}\u{10ffff}`)})
   order by k.created_at desc`;
}

/** @param column whose MACs these are: of an address, or of its domain */
const ofPeople = (of: Bind, column: 'email_mac' | 'domain_mac', emailMacs: readonly string[]): string =>
  `${hit('person', { account: 'p.account_id', id: 'p.person_id', time: 'p.since' })}
   from people p where p.${column} = any(${of(emailMacs)}::text[]) and p.removed_at is null order by p.account_id`;

function ofDocument(of: Bind, { type, accountId, number }: NonNullable<ReturnType<typeof readDocumentNumber>>): string {
  const types = { invoice: ['InvoiceIssued'], credit_note: ['CreditNoteIssued'] };
  const wanted = type === undefined ? Object.values(types).flat() : types[type];
  return `${documentHit} where i.account_id = ${of(accountId)} and i.type = any(${of(wanted)}) and i.number = ${of(number)}`;
}

const documentColumns = { account: 'i.account_id', id: `i.type || ' ' || i.number`, label: 'i.type', time: 'i.time' };
const documentHit = `${hit('document', documentColumns)} from invoices i`;

const ledgerHit = (kind: SearchHitKind) =>
  `${hit(kind, { account: 'l.account_id', token: 'l.token', id: 'l.event_id', label: 'l.type', time: 'l.time' })}
   from overage_ledger l`;

const correctionColumns = { account: 'c.account_id', id: 'c.correction_id', label: 'c.status', time: 'c.asked_at' };
const correctionHit = `${hit('correction', correctionColumns)} from corrections c`;

/** The name of a usage stream has the account. The name of a job's stream has the token alone, which may have hyphens. */
const accountOfEntry = `case when t.stream like 'usage-%' then split_part(t.stream, '-', 2)
                             else (select j.account_id from jobs j where j.token = t.token) end`;

/** Events of every read model that knows its own, and corrections. */
function ofUuid(of: Bind, given: string): string[] {
  const id = `${of(given)}::uuid`;
  return [
    `${correctionHit} where c.correction_id = ${id}`,
    `${correctionHit} where c.asked_event_id = ${id} or c.decided_event_id = ${id}`,
    `${hit('event', { account: accountOfEntry, token: 't.token', id: 't.event_id', label: 't.type', time: 't.time' })}
     from job_timeline t where t.event_id = ${id}`,
    `${ledgerHit('event')} where l.event_id = ${id} and l.token is null`,
    `${documentHit} where i.event_id = ${id}`,
    `${hit('event', { account: 'w.account_id', id: 'w.event_id', label: 'w.type', time: 'w.time' })}
     from usage_warnings w where w.event_id = ${id}`,
  ];
}
