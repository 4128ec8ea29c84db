import { randomUUID } from 'node:crypto';
import { queue } from '../../support/downloads.ts';
import { waitFor } from '../../support/wait-for.ts';
import { send } from '../browser.ts';
import type { Staff } from './staff-of.ts';

/** A queued download and its account, which pages and endpoints are about. */
export interface Things {
  accountId: string;
  token: string;
}

export async function makeThings({ installation, api, sql }: Staff): Promise<Things> {
  const { accountId, key } = await installation.openAccount('enterprise');
  const { request_token: token } = await queue(api.url, key, { url: installation.sampleUrl('bars') });
  await waitFor(async () => (await sql('select from jobs where token = $1', [token])).length === 1, {
    what: 'the download in the read model',
  });
  return { accountId, token };
}

export const nobody = 'acc_aaaaaaaaaaaaaaaa';

interface EndpointRow {
  scope: string;
  /** Of the token's person; default: support. */
  role?: string;
  path?: string;
  body?: object;
  answer: number;
}

/** The endpoints for programs, each once. */
export const programs = ({ accountId, token }: Things): Readonly<Record<string, EndpointRow>> => ({
  'POST /search': { scope: 'accounts', body: { search: 'nothing' }, answer: 200 },
  'GET /accounts/{account}': { scope: 'accounts', path: `/accounts/${accountId}`, answer: 200 },
  'GET /downloads/{token}': { scope: 'jobs', path: `/downloads/${token}`, answer: 200 },
  'GET /events/{id}': { scope: 'accounts', path: `/events/0@account-${accountId}`, answer: 200 },
  'GET /overage': { scope: 'money', answer: 200 },
  'GET /corrections': { scope: 'money', answer: 200 },
  'GET /corrections/{id}': { scope: 'money', path: `/corrections/${randomUUID()}`, answer: 404 },
  'GET /overage/{account}/{day}': { scope: 'money', path: `/overage/${nobody}/2026-11-01`, answer: 404 },
  'GET /months/{month}': { scope: 'money', path: '/months/2019-01', answer: 404 },
  'GET /sales-book': { scope: 'money', role: 'finance', path: '/sales-book?issued=2019-01', answer: 200 },
  'GET /operation': { scope: 'operation', answer: 200 },
});

export const nameOf = ({ method, path }: { method: string; path: string }): string =>
  `${method} ${path.replace('/staff', '')}`;

interface Call {
  things: Things;
  /** A row of the table of programs. */
  name: string;
  authorization: string | undefined;
}

export async function callProgram({ staffUrl }: Staff, { things, name, authorization }: Call) {
  const [method = '', path = ''] = name.split(' ');
  const { path: own = path, body } = programs(things)[name]!;
  const { status, headers, text } = await send(staffUrl, {
    method,
    path: `/staff/v1${own}`,
    headers: { authorization, host: new URL(staffUrl).host, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const read = JSON.parse(text) as { success: boolean; error?: { code: string } };
  return { status, code: read.error?.code, success: read.success, headers };
}
