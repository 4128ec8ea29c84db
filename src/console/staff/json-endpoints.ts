import type { z } from 'zod';
import type { StaffScope } from '../../domain/staff-events.ts';
import type { StaffDependencies } from './dependencies.ts';
import { type JsonView, see, type Viewer } from './view.ts';
import { account } from './views/account.ts';
import { charges } from './views/charges.ts';
import { correction } from './views/correction.ts';
import { corrections } from './views/corrections.ts';
import { download } from './views/download.ts';
import { event } from './views/event.ts';
import { monthClose } from './views/months.ts';
import { operation } from './views/operation.ts';
import { overage } from './views/overage.ts';
import { search } from './views/search-by-id-or-number.ts';

/** A view for programs, below `/staff/v1`. */
export interface Endpoint {
  method: 'GET' | 'POST';
  /** Parts in braces, such as `/accounts/{account}`. */
  path: string;
  /** The scope of a token that may call it. */
  scope: StaffScope;
  operationId: string;
  summary: string;
  input: z.ZodType;
  shown: z.ZodType;
  /** @param given the parts of the path with the query, or a JSON body */
  see: (viewer: Viewer, dependencies: StaffDependencies, given: unknown) => Promise<object>;
}

function endpoint<Input, Shown extends object>(
  view: JsonView<Input, Shown>,
  described: Pick<Endpoint, 'method' | 'path' | 'scope' | 'operationId' | 'summary'>,
): Endpoint {
  const { input, shown } = view;
  return { ...described, input, shown, see: (...who) => see(view, ...who) };
}

export const apiBase = '/staff/v1';

/** Every endpoint for programs of staff. */
export const jsonEndpoints: readonly Endpoint[] = [
  endpoint(search, {
    method: 'POST',
    path: '/search',
    scope: 'accounts',
    operationId: 'search',
    summary: 'Everything that a text stands for',
  }),
  endpoint(account, {
    method: 'GET',
    path: '/accounts/{account}',
    scope: 'accounts',
    operationId: 'getAccount',
    summary: 'An account: terms, usage, money, keys, people, and what is new',
  }),
  endpoint(download, {
    method: 'GET',
    path: '/downloads/{token}',
    scope: 'jobs',
    operationId: 'getDownload',
    summary: 'A download, step by step',
  }),
  endpoint(event, {
    method: 'GET',
    path: '/events/{id}',
    scope: 'accounts',
    operationId: 'getEvent',
    summary: 'One event, with what caused it and what it has caused',
  }),

  endpoint(overage, {
    method: 'GET',
    path: '/overage',
    scope: 'money',
    operationId: 'listOverage',
    summary: 'Overage of every account and month',
  }),
  endpoint(corrections, {
    method: 'GET',
    path: '/corrections',
    scope: 'money',
    operationId: 'listCorrections',
    summary: 'What waits for a second person, and who gave what back, why and with whose approval',
  }),
  endpoint(correction, {
    method: 'GET',
    path: '/corrections/{id}',
    scope: 'money',
    operationId: 'getCorrection',
    summary: 'One correction: who asked, who approved, and the events that give the money back',
  }),
  endpoint(charges, {
    method: 'GET',
    path: '/overage/{account}/{day}',
    scope: 'money',
    operationId: 'listCharges',
    summary: 'Charges and corrections of one account and billing period',
  }),
  endpoint(monthClose, {
    method: 'GET',
    path: '/months/{month}',
    scope: 'money',
    operationId: 'getMonth',
    summary: 'The close of a month, in sum and by account',
  }),
  endpoint(operation, {
    method: 'GET',
    path: '/operation',
    scope: 'operation',
    operationId: 'getOperation',
    summary: 'The service itself: what the verification says, read models, queue, workers, how downloads end',
  }),
];

/** Every error of the endpoints for programs. */
export const staffApiErrors = {
  invalid_request: { status: 400, message: 'A parameter is missing or malformed' },
  unauthorized: { status: 401, message: 'The token is missing, unknown, expired or revoked' },
  forbidden: { status: 403, message: 'The token does not have the scope of this endpoint' },
  method_not_allowed: { status: 405, message: 'This endpoint does not take this method; Allow names the one it takes' },
  not_found: { status: 404, message: 'There is nothing here' },
  internal_error: { status: 500, message: 'Something went wrong here; the request was not completed' },
  unavailable: { status: 503, message: 'A part of the service does not answer; try again' },
} as const;

export type StaffApiErrorCode = keyof typeof staffApiErrors;
