import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { ApiError } from './errors.ts';

/** The lists that go on from a cursor. A cursor of one is none of another. */
type PagedList = 'events' | 'downloads' | 'usage' | 'documents';

interface CursorOf {
  list: PagedList;
  accountId: string;
}

const macBytes = 16;

/**
 * Cursors of lists: a place with a MAC over list, account and place, in base64url. A client cannot make one, change one, or use one
 * of another account.
 */
export class Cursors {
  readonly #current: KeyObject;
  readonly #keys: readonly KeyObject[];

  /** @param others keys of earlier secrets, whose cursors are still taken */
  constructor(current: KeyObject, others: readonly KeyObject[]) {
    this.#current = current;
    this.#keys = [current, ...others];
  }

  /** @param place where the list goes on; whoever has the cursor can read it */
  write(of: CursorOf, place: string): string {
    return cursorText(this.#current, of, place);
  }

  /** @returns the place @throws {ApiError} invalid_request for any text that `write` has not returned for this list and account */
  read(of: CursorOf, cursor: string): string {
    const place = Buffer.from(cursor, 'base64url').subarray(0, -macBytes).toString();
    // Compared as it is spelled: base64url has several spellings for the same bytes.
    if (this.#keys.some((key) => isSame(cursorText(key, of, place), cursor))) return place;
    throw new ApiError('invalid_request', 'after: is not a cursor that this list has given to this account');
  }
}

function cursorText(key: KeyObject, { list, accountId }: CursorOf, place: string): string {
  const mac = createHmac('sha256', key).update(`${list} ${accountId} ${place}`).digest();
  return Buffer.concat([Buffer.from(place), mac.subarray(0, macBytes)]).toString('base64url');
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
