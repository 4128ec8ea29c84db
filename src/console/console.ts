import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html } from '../documents/html.ts';
import type { ServicePart } from '../ports/service-parts.ts';
import { RequestRefused } from '../requests/request-refused.ts';
import { type Assets, registerAssets } from './assets/assets.ts';
import { requireFormToken, requireOwnOrigin } from './csrf.ts';
import { pageRefusalOfError } from './failures.ts';
import { layout } from './layout.ts';
import { LongVisits } from './live/long-visits.ts';
import { noteAnchor } from './parts.ts';
import { type PartsDependencies, partsOfService, serversAtFault } from './parts-of-service.ts';
import { pageOr } from './sign-in/asking-browser.ts';
import { readCookies } from './sign-in/cookies.ts';
import type { Handlers, Route, Site, SiteDependencies, SiteSession } from './site.ts';
import { type Answer, badInput, hasNul, missing, type Page, PageRefusal, redirect, type Visit } from './visit.ts';

/**
 * Opens a console to browsers. A visit passes, in this order: `Host`, session, for a form its origin and its token, the role, then
 * the route. Pages come as HTML and can be read without script; nothing is loaded from elsewhere.
 */
export function registerSite<Session extends SiteSession, Dependencies extends SiteDependencies>(
  server: FastifyInstance,
  site: Site<Session, Dependencies>,
  dependencies: Dependencies,
): void {
  const { base } = site;
  const assets = registerAssets(server, base);
  /** One line when the pages fail and one when they work again, however many are asked for meanwhile. */
  const part = dependencies.serviceParts.of(site.partName);
  const longVisits = new LongVisits<Session>({
    findSessions: (sessions) => site.findSessions(dependencies, sessions),
    part: dependencies.serviceParts.of(`${site.partName} that stay open`),
  });
  const sendTo = (reply: FastifyReply, answer: Answer, session: Session | undefined) => {
    const isAnswer = reply.request.method === 'POST';
    const around = { assets, site, session, isDemo: dependencies.isDemo, isAnswer };
    return send(reply, answer, (page) => layout(page, around).text, assets);
  };

  const answerOf = async (
    route: Route<Session, Dependencies>,
    request: FastifyRequest,
    reply: FastifyReply,
    visitor: Visitor<Session>,
  ): Promise<Answer> => {
    const { origins } = dependencies;
    if (!origins.isHost(request.headers.host)) return redirect(new URL(base, origins.own).href);
    if (!origins.mayHoldSessions) throw needsHttps(origins.own, site.addressSetting);
    const visit = visitOf(request);
    const { params, query, form, cookies } = visit;
    if (hasNul([params, ...query.values(), ...form.values()]))
      throw badInput('The address or a field has a character that no text has.');
    const secret = cookies.get(site.cookieNames(origins.isSecure).session);
    const session = secret === undefined ? undefined : await site.findSession(dependencies, secret);
    visitor.session = session;
    if (route.method === 'POST') requireOwnOrigin(request, origins);
    if (route.access === 'everybody') return await answerTo(route, visit, dependencies, reply);
    if (!session) return redirect(signInPath(site, request));
    if (route.method === 'POST') requireFormToken(visit, session, pageOfForm(site, request));
    const { access } = route;
    if (!site.mayOpen(access, session)) throw needsRole(access);
    const stay = () =>
      longVisits.begin({
        session,
        mayOpen: (now) => site.mayOpen(access, now),
        isConfirmed: (now) => site.isConfirmed(dependencies, access, now),
      });
    const answer = await answerTo(route, { ...visit, session, stay }, dependencies, reply);
    part.works();
    return answer;
  };

  for (const route of [...site.routes, ...elsewhere(site)]) {
    server.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const visitor: Visitor<Session> = { session: undefined };
        const answer = await answerOf(route, request, reply, visitor).catch((error: unknown) =>
          answerOfError(error, { request, part, site, dependencies }),
        );
        return sendTo(reply, answer, visitor.session);
      },
      // The server refuses some requests before they come to the handler.
      errorHandler: (error, request, reply) => {
        answerOfError(error, { request, part, site, dependencies })
          .then((answer) => sendTo(reply, answer, undefined))
          .catch((failure: unknown) => {
            request.log.error({ err: failure }, 'a refusal could not be answered');
            reply.raw.destroy();
          });
      },
    });
  }
}

/** For a form that is refused: the page on which it stands, with why beside it and what was typed in it, if it stands there still. */
async function answerTo<Of extends Visit, Dependencies>(
  { handler, formPage }: Handlers<Of, Dependencies>,
  visit: Of,
  dependencies: Dependencies,
  reply: FastifyReply,
): Promise<Answer> {
  try {
    return await handler(visit, dependencies, reply);
  } catch (error) {
    if (!formPage || !(error instanceof PageRefusal) || error.status !== 400) throw error;
    const [action = ''] = visit.request.url.split('?');
    const answer = await formPage({ ...visit, refused: { action, message: error.message } }, dependencies, reply);
    if (answer.kind !== 'page' || !answer.page.content.text.includes(`id="${noteAnchor}"`)) throw error;
    return { ...answer, status: error.status };
  }
}

/** Known once the session is found: pages of refusals have the menu too. */
interface Visitor<Session> {
  session: Session | undefined;
}

/** Every other address below the console's. That of a form leads to its page: browsers come there by going back, and anew. */
function elsewhere<Session, Dependencies>(site: Site<Session, Dependencies>): Route<Session, Dependencies>[] {
  const { base } = site;
  return (['GET', 'POST'] as const).map((method) => ({
    method,
    path: `${base}/*`,
    access: 'everybody',
    handler: ({ request }) => {
      const path = pathOf(request.url);
      if (path === `${base}/`) return redirect(base);
      if (method === 'GET' && hasRoute(site, 'POST', path)) return redirect(pageAbove(site, path));
      throw missing();
    },
  }));
}

const pathOf = (url: string): string => /^[^?]*/.exec(url)?.[0] ?? url;

function hasRoute({ routes }: Pick<Site<never, never>, 'routes'>, method: Route<never, never>['method'], path: string) {
  const parts = path.split('/');
  return routes.some((route) => {
    const pattern = route.path.split('/');
    const isSame = (part: string, index: number) => part.startsWith(':') || part === parts[index];
    return route.method === method && pattern.length === parts.length && pattern.every(isSame);
  });
}

/** The nearest page above the address of a form. */
function pageAbove(site: Pick<Site<never, never>, 'routes' | 'base'>, path: string): string {
  const above = path.slice(0, path.lastIndexOf('/'));
  return above.length <= site.base.length || hasRoute(site, 'GET', above) ? above : pageAbove(site, above);
}

/** After signing in, people go on where they wanted to go. */
function signInPath<Session, Dependencies>(site: Site<Session, Dependencies>, request: FastifyRequest): string {
  const { base } = site;
  if (request.url === `${base}/sign-out`) return `${base}/sign-in?done=out`;
  if (request.method === 'POST') return `${base}/sign-in?unsent&next=${encodeURIComponent(pageOfForm(site, request))}`;
  return request.url === base ? `${base}/sign-in` : `${base}/sign-in?next=${encodeURIComponent(request.url)}`;
}

/** The page from which a form was sent, without the note about what was done there before. */
function pageOfForm<Session, Dependencies>(
  site: Site<Session, Dependencies>,
  { url, headers: { referer, origin } }: FastifyRequest,
): string {
  const { base } = site;
  const from = URL.parse(referer ?? '');
  if (!from || from.origin !== origin) return pageAbove(site, pathOf(url));
  from.searchParams.delete('done');
  return pageOr(from.pathname + from.search, base);
}

const needsRole = (role: string) =>
  new PageRefusal(403, 'Not for your role', `This needs the role ${role}. Nothing was changed.`);

const needsHttps = (address: string, setting: string) =>
  new PageRefusal(
    403,
    'The console needs https',
    `Sessions do not travel over a network in the open, and this service calls itself ${address}. Whoever runs it can set ${setting} to an address with https.`,
  );

function visitOf(request: FastifyRequest): Visit {
  const query = new URLSearchParams(/\?(.*)/.exec(request.url)?.[1] ?? '');
  const params = request.params as Readonly<Record<string, string>>;
  return { request, params, query, form: formOf(request), cookies: readCookies(request.headers.cookie) };
}

function formOf({ body, raw }: FastifyRequest): URLSearchParams {
  if (!Buffer.isBuffer(body)) return new URLSearchParams();
  const [mediaType = ''] = (raw.headers['content-type'] ?? '').split(';');
  const isForm = mediaType.trim().toLowerCase() === 'application/x-www-form-urlencoded';
  return new URLSearchParams(isForm ? body.toString('utf8') : '');
}

async function answerOfError<Session, Dependencies extends SiteDependencies>(
  error: unknown,
  about: {
    request: FastifyRequest;
    part: ServicePart;
    site: Site<Session, Dependencies>;
    dependencies: PartsDependencies;
  },
): Promise<Answer> {
  const { request, part, site, dependencies } = about;
  const told = pageRefusalOfError(error) ?? refusalOfServer(error);
  if (told?.isServiceAway) {
    part.failed('a page', error);
    return pageOfRefusal(told.refusal, { request, site }, serversAtFault(await partsOfService(dependencies)));
  }
  if (told) return pageOfRefusal(told.refusal, { request, site });
  request.log.error({ err: error }, 'a page of the console failed');
  const title = 'Something went wrong';
  const text = `The service has made a mistake, and noted it under ${request.id}. Try again; if it happens again, tell whoever runs the service that number.`;
  return { kind: 'page', status: 500, page: { title, content: html`<p>${text}</p>` } };
}

/** The server's own refusals are all of malformed input, such as a form that is too large. */
function refusalOfServer(error: unknown): { refusal: PageRefusal; isServiceAway: boolean } | undefined {
  const { statusCode = 500 } = error as { statusCode?: number };
  if (statusCode < 400 || statusCode >= 500) return undefined;
  const detail = error instanceof RequestRefused ? ` ${error.message}.` : '';
  const message = `The service could not read what was sent.${detail} Nothing was changed.`;
  return { refusal: new PageRefusal(400, 'This request cannot be answered', message), isServiceAway: false };
}

function pageOfRefusal<Session, Dependencies>(
  { status, title, message, formPage }: PageRefusal,
  { request, site }: { request: FastifyRequest; site: Site<Session, Dependencies> },
  why?: Html,
): Answer {
  const { base } = site;
  const before = status === 400 && pageBefore(site, request);
  return {
    kind: 'page',
    status,
    page: {
      title,
      content: html`<p class="lead">${message}</p>
        ${why}
        ${
          formPage !== undefined &&
          html`<p data-not-sent><a class="button" href="${formPage}">Open the page again</a></p>`
        }
        <p class="pages">
          ${before && html`<a href="${before.path}">${before.name}</a>`}
          <a href="${base}">${base === '/console' ? 'To the overview' : 'To the first page'}</a>
        </p>`,
    },
  };
}

/** Where whoever sent something that is not accepted can send it again: the page of the form, or that of the filters. */
function pageBefore<Session, Dependencies>(
  site: Site<Session, Dependencies>,
  request: FastifyRequest,
): { path: string; name: string } | undefined {
  const { method, url } = request;
  if (method === 'POST') return { path: pageOfForm(site, request), name: 'Back to the form' };
  const path = pathOf(url);
  return path === url ? undefined : { path, name: 'Show all of the page' };
}

function send(reply: FastifyReply, answer: Answer, page: (shown: Page) => string, assets: Assets): FastifyReply {
  if (answer.kind === 'handled') return reply.hijack();
  reply.headers(securityHeaders(assets));
  for (const cookie of cookiesOf(answer)) reply.header('Set-Cookie', cookie);
  switch (answer.kind) {
    case 'redirect':
      return reply.redirect(answer.to, 303);
    case 'file':
      if (answer.stalledMs !== undefined) cutStalled(reply.raw, answer.stalledMs);
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
        .send(page(answer.page));
  }
}

/** Each stream holds a connection of Postgres: nobody keeps one by not reading. A source that takes its time is not cut. */
function cutStalled(answer: ServerResponse, stalledMs: number): void {
  answer.setTimeout(stalledMs, () => {
    if (answer.writableLength > 0) answer.destroy();
  });
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
