import { z } from 'zod';
import { listNotices, type Notice } from '../../../../projections/queries/operation.ts';
import type { View } from '../view.ts';

const input = z.object({
  before: z
    .string()
    .regex(/^[0-9TZ:.-]{20,30}~[0-9a-f-]{36}$/, 'is no notice')
    .optional()
    .describe('A notice as `next` names it: only older ones.'),
});

export interface Notices {
  /** What owners of accounts are told by mail, the newest first. */
  notices: Notice[];
  next: string | null;
}

const perPage = 50;

export const notices: View<z.infer<typeof input>, Notices> = {
  input,
  read: async ({ pool }, { before }) => {
    const [time = '', event_id = ''] = before?.split('~') ?? [];
    const cursor = z.iso.datetime().safeParse(time).success ? { time, event_id } : undefined;
    const rows = await listNotices(pool, { before: cursor, limit: perPage + 1 });
    const page = rows.slice(0, perPage);
    const last = rows.length > perPage ? page.at(-1) : undefined;
    return { notices: page, next: last ? `${last.time}~${last.event_id}` : null };
  },
};
