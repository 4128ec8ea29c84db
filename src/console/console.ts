import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from '../documents/html.ts';
import { registerAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { ItemsMissing } from '../../projections/line-items.ts';
import { ClockIsWrong } from '../ports/clock.ts';
import { NotStored, OutcomeUnknown } from '../commands/handle-command.ts';
import type { Outage } from '../ports/outage.ts';
import { EventStoreUnavailable } from '../ports/event-store.ts';
import { cookieNames, readCookies } from './cookies.ts';
import { layout } from './layout.ts';
import { routes } from './routes.ts';
import type { Route } from './routes.ts';
import { Refusal, away, badInput, missing, outcomeUnknown, redirect } from './visit.ts';
import type { Answer, OwnerVisit, Visit } from './visit.ts';

/**
 * The console of account owners, below `/console`. A visit passes, in this order: `Host`, session, for a form its origin and its
 * token, then the route. Pages come as HTML and can be read without script; nothing is loaded from elsewhere.
 */
export function registerConsole(server: FastifyInstance, dependencies: ConsoleDependencies): void {
  const assets = registerAssets(server);
  const outage = outageOf(dependencies);
  for (const route of [...routes, ...elsewhere]) {
    server.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const answer = await answerOf(route, request, reply, dependencies).catch((error: unknown) =>
          answerOfError(error, request, outage),
        );
        return send(reply, answer, { assets, dependencies, session: request.consoleSession });
      },
    });
  }
  server.decorateRequest('consoleSession', undefined);
}

/** Every other address below the console's. */
const elsewhere = (['GET', 'POST'] as const).map((method): Route => ({
  method,
  path: '/console/*',
  access: 'everybody',
  handler: ({ request }) => {
    if (request.url === '/console/') return redirect('/console');
    throw missing();
  },
}));

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a visitor of the console who is signed in. */
    consoleSession: OwnerVisit['session'] | undefined;
  }
}

async function answerOf(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: ConsoleDependencies,
): Promise<Answer> {
  const { origins, sessions } = dependencies;
  if (!origins.isHost(request.headers.host)) return redirect(new URL('/console', origins.own).href);
  if (!origins.mayHoldSessions) throw needsHttps(origins.own);
  const visit = visitOf(request);
  if (hasNul(visit)) throw badInput('The address or a field has a character that no text has.');
  const secret = visit.cookies.get(cookieNames(origins.isSecure).session);
  const session = secret === undefined ? undefined : await sessions.find(secret);
  request.consoleSession = session;
  if (route.method === 'POST' && !origins.isOrigin(request.headers.origin)) throw fromElsewhere();
  if (route.access === 'everybody') return await route.handler(visit, dependencies, reply);
  if (!session) return redirect(signInPath(request));
  if (route.method === 'POST' && visit.form.get('form_token') !== session.formToken) throw fromElsewhere();
  const answer = await route.handler({ ...visit, session }, dependencies, reply);
  outageOf(dependencies).works();
  return answer;
}

/** An outage is one line when it begins and one when it ends, however many pages are asked for meanwhile. */
const outageOf = ({ outages }: ConsoleDependencies): Outage => outages.of('pages of the console');

/** After signing in, people go on where they wanted to go. */
function signInPath({ method, url }: FastifyRequest): string {
  if (method !== 'GET' || url === '/console') return '/console/sign-in';
  return `/console/sign-in?next=${encodeURIComponent(url)}`;
}

const fromElsewhere = () =>
  new Refusal(
    403,
    'This form has expired',
    'It was not sent from a page of this console that is still signed in. Nothing was changed. Go back, reload the page and send it again.',
  );

const needsHttps = (address: string) =>
  new Refusal(
    403,
    'The console needs https',
    `Sessions do not travel over a network in the open, and this service calls itself ${address}. Whoever runs it can set PUBLIC_URL to an address with https.`,
  );

function visitOf(request: FastifyRequest): Visit {
  const query = new URLSearchParams(/\?(.*)/.exec(request.url)?.[1] ?? '');
  const params = request.params as Readonly<Record<string, string>>;
  return { request, params, query, form: formOf(request), cookies: readCookies(request.headers.cookie) };
}

/** Postgres has no text with one. */
function hasNul({ params, query, form }: Visit): boolean {
  return [...Object.values(params), ...query.values(), ...form.values()].some((text) => text.includes('\0'));
}

function formOf({ body, raw }: FastifyRequest): URLSearchParams {
  if (!Buffer.isBuffer(body)) return new URLSearchParams();
  const [mediaType = ''] = (raw.headers['content-type'] ?? '').split(';');
  const isForm = mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded';
  return new URLSearchParams(isForm ? body.toString('utf8') : '');
}

function answerOfError(error: unknown, request: FastifyRequest, outage: Outage): Answer {
  if (error instanceof Refusal) return pageOfRefusal(error);
  const isAway = [ClockIsWrong, NotStored, EventStoreUnavailable, ItemsMissing].some((kind) => error instanceof kind);
  if (isAway || error instanceof OutcomeUnknown || isPostgresAway(error)) {
    outage.failed('a page', error);
    return pageOfRefusal(error instanceof OutcomeUnknown ? outcomeUnknown() : away());
  }
  request.log.error({ err: error }, 'a page of the console failed');
  const title = 'Something went wrong';
  const text = `The service has made a mistake, and noted it under ${request.id}. Try again; if it happens again, tell whoever runs the service that number.`;
  return { kind: 'page', status: 500, page: { title, content: html`<p>${text}</p>` } };
}

/** Errors of connections have a code of the system; errors in statements have one of SQL, which begins with a digit. */
function isPostgresAway(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isOfSystem = typeof code === 'string' && /^(?:E[A-Z]+|57P0\d|08\d\d\d)$/.test(code);
  return isOfSystem || /^(?:Query read timeout|Connection terminated|timeout exceeded)/.test(String(message));
}

const pageOfRefusal = ({ status, title, message }: Refusal): Answer => ({
  kind: 'page',
  status,
  page: {
    title,
    content: html`<p class="lead">${message}</p>
      <p><a href="/console">To the overview</a></p>`,
  },
});

function send(
  reply: FastifyReply,
  answer: Answer,
  {
    assets,
    dependencies,
    session,
  }: {
    assets: Assets;
    dependencies: ConsoleDependencies;
    session: OwnerVisit['session'] | undefined;
  },
): FastifyReply {
  if (answer.kind === 'handled') return reply.hijack();
  reply.headers(securityHeaders(assets));
  for (const cookie of cookiesOf(answer)) reply.header('Set-Cookie', cookie);
  switch (answer.kind) {
    case 'redirect':
      return reply.redirect(answer.to, 303);
    case 'file':
      return reply
        .header('Content-Disposition', `attachment; filename="${answer.fileName}"`)
        .type(answer.mediaType)
        .send(answer.body);
    case 'document':
      return reply
        .header(
          'Content-Security-Policy',
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        )
        .type('text/html; charset=utf-8')
        .send(answer.html);
    case 'page':
      return reply
        .code(answer.status ?? 200)
        .type('text/html; charset=utf-8')
        .send(layout(answer.page, { assets, session, isDemo: dependencies.isDemo }).text);
  }
}

const cookiesOf = (answer: Answer): readonly string[] => ('cookies' in answer ? (answer.cookies ?? []) : []);

/** Nothing evaluated, nothing from elsewhere, in nobody's frame, and no address of ours told to others. */
function securityHeaders({ importMapHash }: Assets): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `script-src 'self' '${importMapHash}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'Cache-Control': 'no-store',
    // With no-referrer, browsers would not name the origin of our own forms.
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}
