import { z } from 'zod';

/** The fields of lists that are read page by page. */

/** Postgres has no year 0. */
const hasYear = (text: string) => !text.startsWith('0000');
export const day = z.iso.date('is not a day such as 2027-01-20').refine(hasYear, 'is too early');

export const cursorField = z.string('must be a string').min(1, 'must not be empty').max(200, 'is too long').optional();

export const afterField = cursorField.describe('`next` of the page before; without it, the first page.');

export const nextField = z.string().nullable().describe('The `after` of the next page; null on the last one.');
