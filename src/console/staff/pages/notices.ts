import { z } from 'zod';
import { listNotices, type Notice } from '../../../../projections/queries/operation.ts';
import { type Html, html } from '../../../documents/html.ts';
import { count, empty, listTable, tag, time } from '../../parts.ts';
import { accountLink, documentPath, eventPath, olderLink } from '../addresses.ts';
import { firstRows, type Rows, type View, viewPage } from '../view.ts';
import { parts } from './operation.ts';

/** What owners of accounts are told by mail: warnings, reached caps, documents. */

const input = z.object({
  before: z
    .string()
    .regex(/^[0-9TZ:.-]{20,30}~[0-9a-f-]{36}$/, 'is no notice')
    .optional(),
});

const perPage = 50;

/** The newest first. */
const notices: View<z.infer<typeof input>, Rows<Notice>> = {
  input,
  read: async ({ pool }, { before: place }) => {
    const [time = '', event_id = ''] = place?.split('~') ?? [];
    const before = z.iso.datetime().safeParse(time).success ? { time, event_id } : undefined;
    const found = await listNotices(pool, { before, limit: perPage + 1 });
    return firstRows(found, perPage, (notice) => `${notice.time}~${notice.event_id}`);
  },
  named: ({ rows }) => rows,
};

export const show = viewPage(notices, {
  title: 'Warnings and mails',
  section: 'operation',
  content: ({ rows, next }) =>
    html`${parts('notices')}
    ${listTable({ name: 'Warnings and mails', none: empty(html`<p>Nobody was told anything yet.</p>`) }, rows, {
      Time: (notice) => html`<a data-row href="${noticePath(notice)}">${time(notice.time)}</a>`,
      What: (notice) => noticeText(notice, notice.limited_key_id),
      Account: (notice) => accountLink(notice),
      Mails: mailsTag,
    })}
    ${olderLink('/staff/operation/notices', new URLSearchParams(), next)}`,
});

/** @param key whose limit it is about, by a name or by its id; null: none */
export function noticeText(
  {
    kind,
    pool,
    threshold_percent: percent,
    document,
  }: Pick<Notice, 'kind' | 'pool' | 'threshold_percent' | 'document'>,
  key: string | null,
): string {
  if (document !== null)
    return `${document.type === 'InvoiceIssued' ? 'Invoice' : 'Credit note'} ${String(document.number)}`;
  if (kind === 'document') return 'Invoice or credit note';
  if (kind === 'overage_cap') return 'The overage cap was reached';
  const used = `${String(percent ?? 0)} % of ${pool ?? ''} used`;
  return key === null ? used : `${used}, of the limit of the key ${key}`;
}

/** The page of its document, or else its event. */
export const noticePath = ({
  account_id: accountId,
  event_id: eventId,
  document,
}: Pick<Notice, 'account_id' | 'event_id' | 'document'>): string =>
  document === null ? eventPath(eventId) : documentPath(document.type, { accountId, number: document.number });

/** Whether the mails about something are sent. */
export const mailsTag = ({ waiting }: { waiting: number }): Html =>
  waiting === 0 ? tag('sent', 'good') : tag(`${count(waiting)} not sent yet`, 'warn');
