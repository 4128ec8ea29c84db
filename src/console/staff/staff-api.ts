import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notBelieved } from '../../../projections/credits-macs.ts';
import { readStaffToken } from '../../../projections/staff-tokens.ts';
import { hasApiKeyForm, hashApiKey } from '../../commands/ids/api-key.ts';
import { readStaff } from '../../commands/staff.ts';
import { isRefused } from '../../domain/refusals.ts';
import { hasRole, isTokenHeld, memberOf, type StaffToken } from '../../domain/staff.ts';
import type { StaffRole } from '../../domain/staff-events.ts';
import type { ServicePart } from '../../ports/service-parts.ts';
import { readJsonBody } from '../../requests/json-body.ts';
import { RequestRefused } from '../../requests/request-refused.ts';
import { pageRefusalOfError } from '../failures.ts';
import { hasNul, type PageRefusal } from '../visit.ts';
import type { StaffDependencies } from './dependencies.ts';
import { apiBase, type Endpoint, jsonEndpoints, type StaffApiErrorCode, staffApiErrors } from './json-endpoints.ts';
import { createStaffOpenApi } from './openapi.ts';

class StaffApiError extends Error {
  override readonly name = 'StaffApiError';
  readonly code: StaffApiErrorCode;

  constructor(code: StaffApiErrorCode, message?: string) {
    super(message ?? staffApiErrors[code].message);
    this.code = code;
  }
}

/**
 * What staff read, as JSON for programs. A request passes, in this order: path and method (404, 405), token (401), its scope and its
 * person's role (403), input (400), then what the view needs (404, 503).
 */
export function registerStaffApi(server: FastifyInstance, dependencies: StaffDependencies): void {
  const part = dependencies.serviceParts.of('the API of staff');
  for (const endpoint of jsonEndpoints) {
    server.route({
      method: endpoint.method,
      url: apiBase + endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: async (request, reply) => {
        const data = await answerOf(endpoint, request, dependencies);
        part.works();
        return reply.headers(headers).send({ success: true, data });
      },
      // Of the handler, and of the server, which refuses some requests before they come to it.
      errorHandler: (error, request, reply) => {
        void sendError(reply, errorOf(error, request, part));
      },
    });
  }
  let document: Buffer | undefined;
  server.get('/staff/openapi.json', (_request, reply) => {
    // Not at the start: to describe every view takes a tenth of it.
    document ??= Buffer.from(JSON.stringify(createStaffOpenApi(dependencies.version)));
    return reply.headers(headers).send(document);
  });
  for (const url of [apiBase, `${apiBase}/*`]) server.all(url, answerNoEndpoint);
}

const forms = jsonEndpoints.map(({ method, path }) => ({
  method,
  form: new RegExp(`^${apiBase}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Tells whether an address is one of the API for staff, also where no endpoint takes it, or it cannot be decoded. */
export const isOfStaffApi = (request: FastifyRequest): boolean => `${pathOf(request)}/`.startsWith(`${apiBase}/`);

const pathOf = ({ url }: FastifyRequest): string => url.split(/[?#]/, 1)[0] ?? '';

/** A request below the API that no endpoint takes. */
export function answerNoEndpoint(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path, { method }] = [pathOf(request), request];
  const allowed = forms.filter(({ form }) => form.test(path)).map((each): string => each.method);
  if (allowed.length === 0 || allowed.includes(method)) return sendError(reply, new StaffApiError('not_found'));
  return sendError(reply.header('allow', allowed.join(', ')), new StaffApiError('method_not_allowed'));
}

async function answerOf(endpoint: Endpoint, request: FastifyRequest, dependencies: StaffDependencies): Promise<object> {
  const token = await findToken(request, dependencies);
  if (!token) throw new StaffApiError('unauthorized');
  if (!token.scopes.includes(endpoint.scope) || !hasRole(token.role, endpoint.role))
    throw new StaffApiError('forbidden');
  const viewer = { staffId: token.staffId, tokenId: token.tokenId, correlationId: request.id };
  return await endpoint.see(viewer, dependencies, inputOf(request));
}

/** A token that is valid, of somebody who is staff. The row only says whose it may be: a revocation holds once the log has it. */
async function findToken(
  { headers: { authorization = '' } }: FastifyRequest,
  dependencies: StaffDependencies,
): Promise<(StaffToken & { staffId: string; role: StaffRole }) | undefined> {
  const [, secret = ''] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
  if (!hasApiKeyForm(secret, 'rts')) return undefined;
  const { pool, macs, now } = dependencies;
  const row = await readStaffToken(pool, hashApiKey(secret), macs);
  if (!row || row === notBelieved) return undefined;
  const { staff_id: staffId } = row;
  const state = await readStaff(dependencies, staffId);
  const token = state.tokens.get(row.token_id);
  const member = memberOf(state);
  if (isRefused(member) || token?.tokenHash !== row.token_hash || !isTokenHeld(token, now())) return undefined;
  return { ...token, staffId, role: member.role };
}

function inputOf(request: FastifyRequest): object {
  const given = request.method === 'GET' ? (request.query as object) : bodyOf(request);
  const input = { ...given, ...(request.params as object) };
  if (hasNul(input))
    throw new StaffApiError('invalid_request', 'The address or the body has a character that no text has');
  return input;
}

function bodyOf({ body, raw }: FastifyRequest): object {
  const read = readJsonBody(body, raw.headers['content-type']);
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  throw new StaffApiError('invalid_request', 'The body is not a JSON object');
}

const codeOfStatus: Readonly<Record<PageRefusal['status'], StaffApiErrorCode>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'invalid_request',
  429: 'unavailable',
  503: 'unavailable',
};

function errorOf(error: unknown, request: FastifyRequest, part: ServicePart): StaffApiError {
  if (error instanceof StaffApiError) return error;
  if (error instanceof RequestRefused) return new StaffApiError('invalid_request', error.message);
  // The server's own refusals are all of malformed input, such as a body that is too large.
  const { code: fault = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  if (fault.startsWith('FST_') && statusCode < 500) return new StaffApiError('invalid_request');
  const told = pageRefusalOfError(error);
  if (told?.isServiceAway) part.failed('an answer', error);
  if (!told) request.log.error({ err: error }, 'a request to the API of staff failed');
  const code = told ? codeOfStatus[told.refusal.status] : 'internal_error';
  return new StaffApiError(code, code === 'invalid_request' ? told?.refusal.message : undefined);
}

/** Answers may hold personal data. */
const headers = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

function sendError(reply: FastifyReply, { code, message }: StaffApiError): FastifyReply {
  if (code === 'unauthorized') reply.header('WWW-Authenticate', 'Bearer');
  return reply.code(staffApiErrors[code].status).headers(headers).send({ success: false, error: { code, message } });
}
