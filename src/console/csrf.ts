import type { FastifyRequest } from 'fastify';
import type { Origins } from './origins.ts';
import type { SiteSession } from './site.ts';
import { PageRefusal, type Visit } from './visit.ts';

/**
 * Two checks against forged requests: a form counts if a page of this console has sent it, and if it was made for the session
 * that sends it. `main/roles/console.ts` asks the same of a request to the API that comes with a session.
 */

/** Also of forms without a session. @throws {PageRefusal} */
export function requireOwnOrigin({ headers }: FastifyRequest, origins: Origins): void {
  if (!origins.isOrigin(headers.origin)) throw fromElsewhere();
}

/** @param page that has the form. @throws {PageRefusal} */
export function requireFormToken({ form }: Visit, { formToken }: Pick<SiteSession, 'formToken'>, page: string): void {
  if (form.get('form_token') !== formToken) throw fromElsewhere(page);
}

const fromElsewhere = (formPage?: string) =>
  new PageRefusal(
    403,
    'This form has expired',
    'It was not sent from a page of this console that is still signed in. Nothing was changed. Open the page again and send the form from there.',
    formPage,
  );
