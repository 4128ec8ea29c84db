import type { z } from 'zod';
import type { StaffScope } from '../../domain/staff-events.ts';
import type { StaffDependencies } from './dependencies.ts';
import { see } from './view.ts';
import type { View, Viewer } from './view.ts';
import { corrections } from './views/corrections.ts';
import { operation } from './views/operation.ts';

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
  endpoint(corrections, {
    method: 'GET',
    path: '/corrections',
    scope: 'money',
    operationId: 'listCorrections',
    summary: 'What waits for a second person, and who gave what back, why and with whose approval',
  }),
  endpoint(operation, {
    method: 'GET',
    path: '/operation',
    scope: 'operation',
    operationId: 'getOperation',
    summary: 'The service itself: what the verification says, read models, queue, workers, how downloads end',
  }),
];
