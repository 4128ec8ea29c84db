import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';

/** What happens to one request in place of its answer. */
export type Interference =
  /** The API's own envelope, as a busy service would answer. */
  | { status: number; code: string; retryAfterSeconds: number }
  /** The connection ends after the service has answered. */
  | 'lost answer'
  /** The answer's link to a file has a wrong signature, so that it is answered with an error. */
  | 'broken link';

/** The headers of a request that the API reads. */
const passedOn = ['authorization', 'content-type', 'idempotency-key', 'prefer'] as const;

export interface InterferingProxy extends AsyncDisposable {
  url: string;
  /** The paths of all requests so far, those that were interfered with included. */
  paths: () => string[];
  /** The statuses of all answers of the service so far. */
  statuses: () => number[];
}

/**
 * A proxy before a running API that spoils the first requests to some paths and passes on everything else.
 *
 * @param interferences by the path below `/api/v1`, one for each request, in their order
 */
export async function startInterferingProxy(
  target: string,
  interferences: Readonly<Record<string, readonly Interference[]>>,
): Promise<InterferingProxy> {
  const left = new Map(Object.entries(interferences).map(([path, list]) => [path, [...list]]));
  const paths: string[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy());
  });
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', target).pathname.replace('/api/v1', '');
    paths.push(path);
    const interference = left.get(path)?.shift();
    if (typeof interference === 'object') {
      refuse(response, interference);
      return;
    }
    const answer = await passOn(request);
    statuses.push(answer.status);
    if (interference === 'lost answer') {
      response.destroy();
      return;
    }
    const headers = [...answer.headers].filter(
      ([name]) => !['connection', 'transfer-encoding', 'content-length'].includes(name),
    );
    const body = await answer.text();
    response.writeHead(answer.status, Object.fromEntries(headers));
    response.end(interference === 'broken link' ? body.replace('signature=', 'signature=x') : body);
  }
  async function passOn(request: IncomingMessage): Promise<Response> {
    const { url = '/', method = 'GET', headers } = request;
    const sent = passedOn.flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]] as const] : [],
    );
    const body = method === 'POST' && { body: await buffer(request) };
    return await fetch(new URL(url, target), { method, headers: Object.fromEntries(sent), ...body });
  }
  const { port, close } = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    paths: () => paths,
    statuses: () => statuses,
    [Symbol.asyncDispose]: close,
  };
}

function refuse(response: ServerResponse, { status, code, retryAfterSeconds }: Exclude<Interference, string>): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Retry-After': String(retryAfterSeconds) });
  response.end(JSON.stringify({ success: false, error: { code, message: 'Try again later' } }));
}
