import type { StaffRole, StaffScope } from '../../domain/staff-events.ts';
import type { StaffDependencies } from './dependencies.ts';
import { type JsonView, see, type Viewer } from './view.ts';
import { account } from './views/account.ts';
import { charges } from './views/charges.ts';
import { correction, corrections } from './views/corrections.ts';
import { download } from './views/download.ts';
import { event } from './views/event.ts';
import { monthClose } from './views/months.ts';
import { operation } from './views/operation.ts';
import { overage } from './views/overage.ts';
import { salesBook } from './views/sales-book.ts';
import { search } from './views/search-by-id-or-number.ts';

/** A view for programs, below `/staff/v1`. */
export interface Endpoint extends Pick<JsonView<unknown, object>, 'operationId' | 'summary' | 'input' | 'shown'> {
  method: 'GET' | 'POST';
  /** Parts in braces, such as `/accounts/{account}`. */
  path: string;
  /** The scope of a token that may call it. */
  scope: StaffScope;
  /** The least role of the token's person: that of the page which shows the same. */
  role: StaffRole;
  /** @param given the parts of the path with the query, or a JSON body */
  see: (viewer: Viewer, dependencies: StaffDependencies, given: unknown) => Promise<object>;
}

function endpoint<Input, Shown extends object>(
  method: Endpoint['method'],
  path: string,
  scope: StaffScope,
  view: JsonView<Input, Shown>,
): Endpoint {
  const { operationId, summary, input, shown } = view;
  return {
    method,
    path,
    scope,
    role: 'support',
    operationId,
    summary,
    input,
    shown,
    see: (...who) => see(view, ...who),
  };
}

export const apiBase = '/staff/v1';

/** Every endpoint for programs of staff. */
export const jsonEndpoints: readonly Endpoint[] = [
  endpoint('POST', '/search', 'accounts', search),
  endpoint('GET', '/accounts/{account}', 'accounts', account),
  endpoint('GET', '/downloads/{token}', 'jobs', download),
  endpoint('GET', '/events/{id}', 'accounts', event),

  endpoint('GET', '/overage', 'money', overage),
  endpoint('GET', '/corrections', 'money', corrections),
  endpoint('GET', '/corrections/{id}', 'money', correction),
  endpoint('GET', '/overage/{account}/{day}', 'money', charges),
  endpoint('GET', '/months/{month}', 'money', monthClose),
  { ...endpoint('GET', '/sales-book', 'money', salesBook), role: 'finance' },
  endpoint('GET', '/operation', 'operation', operation),
];

/** Every error of the endpoints for programs. */
export const staffApiErrors = {
  invalid_request: { status: 400, message: 'A parameter is missing or malformed' },
  unauthorized: { status: 401, message: 'The token is missing, unknown, expired or revoked' },
  forbidden: { status: 403, message: 'The token does not have the scope of this endpoint, or its person not the role' },
  method_not_allowed: { status: 405, message: 'This endpoint does not take this method; Allow names the one it takes' },
  not_found: { status: 404, message: 'There is nothing here' },
  internal_error: { status: 500, message: 'Something went wrong here; the request was not completed' },
  unavailable: { status: 503, message: 'A part of the service does not answer; try again' },
} as const;

export type StaffApiErrorCode = keyof typeof staffApiErrors;
