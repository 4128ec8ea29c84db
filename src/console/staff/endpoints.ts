import type { z } from 'zod';
import type { StaffScope } from '../../domain/staff-events.ts';
import type { StaffDependencies } from './dependencies.ts';
import { see } from './view.ts';
import type { View, Viewer } from './view.ts';
import { charges } from './views/charges.ts';
import { monthClose } from './views/months.ts';
import { operation } from './views/operation.ts';
import { overage } from './views/overage.ts';

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
  view: View<Input, Shown>,
  described: Pick<Endpoint, 'method' | 'path' | 'scope' | 'operationId' | 'summary'>,
): Endpoint {
  const { input, shown } = view;
  return { ...described, input, shown, see: (...who) => see(view, ...who) };
}

export const apiBase = '/staff/v1';

/** Every endpoint for programs of staff. */
export const endpoints: readonly Endpoint[] = [
  endpoint(overage, {
    method: 'GET',
    path: '/overage',
    scope: 'money',
    operationId: 'listOverage',
    summary: 'Overage of every account and month',
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
    summary: 'The service itself: what the verification says',
  }),
];
