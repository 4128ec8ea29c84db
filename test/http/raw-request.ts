import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'vitest';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  code: string | undefined;
  body: string;
}

interface RawRequest {
  method: string;
  /** As it stands in the request line: nothing is normalised or encoded. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Where the connection comes from; default: as the system chooses. */
  localAddress?: string;
}

/** For what fetch does not let through: unusual methods, paths as they stand, header fields of one's own. */
export async function rawRequest(
  url: string,
  { method, path, headers = {}, body, localAddress }: RawRequest,
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  // Of some methods Node does not expect a body, and would send one without saying how long it is.
  const length =
    body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) };
  const from = localAddress === undefined ? {} : { localAddress };
  const sent = request({ hostname, port, method, path, headers: { ...headers, ...length }, agent: false, ...from });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answered = await readText(response);
  return checked(response.statusCode ?? 0, response.headers as Record<string, string>, answered);
}

/** Writes bytes to a connection of its own and reads until the other side closes it. */
export async function rawExchange(url: string, bytes: string): Promise<RawAnswer> {
  const { status, headers, body } = await rawBytes(url, bytes);
  return checked(status, headers, body);
}

/** The same for what is outside of the API. */
export async function rawBytes(url: string, bytes: string) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(bytes);
  return await readAnswer(socket);
}

/** Writes bytes, closes the writing side of the connection with the last one, and reads until the other side closes its own. */
export async function halfClosedExchange(url: string, bytes: string) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.end(bytes);
  return await readAnswer(socket);
}

async function readAnswer(socket: Socket) {
  const text = await readText(socket);
  const [head = '', ...parts] = text.split('\r\n\r\n');
  const body = parts.join('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(statusLine.split(' ')[1]), headers: Object.fromEntries(headers), body, text };
}

/** Sends the beginning of a request, and no more. @returns after how many seconds the other side closes the connection */
export async function secondsUntilClosed(url: string, beginning: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const startedMs = performance.now();
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(beginning);
  await readText(socket);
  return (performance.now() - startedMs) / 1_000;
}

/** What the contract says of every response holds here too: §2.1 and §4.6. */
function checked(status: number, headers: Record<string, string>, body: string): RawAnswer {
  expect(headers['content-type']).toBe('application/json');
  const names = ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}`);
  for (const name of [...names, 'x-credits-remaining']) expect(headers[name], name).toMatch(/^\d+$/);
  if (body === '') return { status, headers, code: undefined, body };
  const envelope = JSON.parse(body) as { success: boolean; error?: { code: string; message: string } };
  if (status < 300) expect(envelope.success).toBe(true);
  else {
    const text = expect.any(String) as string;
    expect(envelope).toEqual({ success: false, error: { code: text, message: text } });
  }
  return { status, headers, code: envelope.error?.code, body };
}
