import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignatureRefused, type Verifier, verifySignature } from './signature.ts';

/**
 * A server of the part of the S3 protocol that a file store needs, in memory, with addresses in path style. It checks every
 * signature and expiry by itself.
 */
export interface S3Server extends AsyncDisposable {
  url: string;
  /** Names of the stored objects, without the bucket's. */
  keys: () => string[];
  object: (key: string) => StoredObject | undefined;
  remove: (key: string) => void;
  /** Names of the uploads that are neither complete nor aborted. */
  openUploads: () => string[];
  /** Method and name of each request that was signed as it should be, with the operation where it has a name. */
  requests: string[];
  /** Every answer until further notice, for requests of these methods; by default as usual. */
  failWith: (status: number | undefined, methods?: readonly string[]) => void;
  /** Objects and parts are taken, and not answered until further notice. */
  hold: (held: boolean) => void;
  /** What it takes for now. */
  clock: { nowMs: number | undefined };
}

interface StoredObject {
  body: Buffer;
  headers: Record<string, string>;
}

interface Upload {
  key: string;
  headers: Record<string, string>;
  parts: Map<number, Buffer>;
}

export const s3Account = {
  bucket: 'films',
  accessKeyId: 'AKIATESTTESTTESTTEST',
  secretAccessKey: 'a secret/that+nobody=guesses',
  region: 'eu-test-1',
} as const;

const leastPartBytes = 5 * 1024 * 1024;
/** Small, so that every listing has several pages. */
const keysPerPage = 2;

class S3Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

interface Call {
  method: string;
  key: string;
  query: URLSearchParams;
  headers: Record<string, string>;
  body: Buffer;
}

interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

export async function startS3Server(port = 0): Promise<S3Server> {
  const bucket = new Bucket();
  const clock: S3Server['clock'] = { nowMs: undefined };
  const verifier: Verifier = { ...s3Account, nowMs: () => clock.nowMs ?? Date.now() };
  const requests: string[] = [];
  const failing: { status: number | undefined; methods: readonly string[] } = { status: undefined, methods: [] };
  let release = Promise.withResolvers<undefined>();
  release.resolve(undefined);

  async function answer(request: IncomingMessage): Promise<Reply> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '' } = request;
    const headers = request.headers as Record<string, string>;
    const body = verifySignature({ method, url, headers, body: Buffer.concat(chunks) }, verifier);
    const { pathname, searchParams: query } = new URL(url, 'http://localhost');
    const [, name = '', ...rest] = pathname.split('/').map(decodeURIComponent);
    if (name !== s3Account.bucket) throw new S3Refusal(404, 'NoSuchBucket');
    const operation = ['uploads', 'uploadId', 'partNumber'].filter((word) => query.has(word)).join();
    const key = rest.join('/');
    requests.push([method, key, operation].filter(Boolean).join(' '));
    if (failing.status !== undefined && failing.methods.includes(method))
      throw new S3Refusal(failing.status, 'InternalError');
    if (method === 'PUT') await release.promise;
    return bucket.answer({ method, key, query, headers, body });
  }

  const server: Server = createServer((request, response) => {
    void answer(request)
      .catch(refusal)
      .then((reply) => {
        send(request, response, reply);
      });
  });
  server.listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: () => [...bucket.objects.keys()].sort(),
    object: (key) => bucket.objects.get(key),
    remove: (key) => void bucket.objects.delete(key),
    openUploads: () => [...bucket.uploads.values()].map(({ key }) => key).sort(),
    requests,
    failWith: (status, methods = []) => void Object.assign(failing, { status, methods }),
    hold: (held) => {
      release.resolve(undefined);
      if (held) release = Promise.withResolvers<undefined>();
    },
    clock,
    [Symbol.asyncDispose]: async () => {
      release.resolve(undefined);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function refusal(error: unknown): Reply {
  const [status, code] =
    error instanceof SignatureRefused
      ? [403, error.code]
      : error instanceof S3Refusal
        ? [error.status, error.code]
        : [500, String(error)];
  return { status, body: xml('Error', element('Code', code) + element('Message', String(error))) };
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers = {}, body = '' }: Reply): void {
  const type = typeof body === 'string' && body !== '' ? { 'Content-Type': 'application/xml' } : {};
  response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ...type, ...headers });
  response.end(request.method === 'HEAD' ? undefined : body);
}

const escape = (text: string) => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
const element = (name: string, text: string) => `<${name}>${escape(text)}</${name}>`;
const xml = (name: string, content: string) => `<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${content}</${name}>`;

class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, Upload>();

  answer(call: Call): Reply {
    const { method, key, query } = call;
    if (key === '') {
      if (method === 'HEAD') return { status: 200 };
      if (method === 'GET' && query.has('uploads')) return this.#listUploads(query);
      if (method === 'GET' && query.get('list-type') === '2') return this.#list(query);
      throw new S3Refusal(501, 'NotImplemented');
    }
    if (method === 'PUT' && query.has('partNumber')) return this.#putPart(call);
    if (method === 'PUT') return this.#put(call);
    if (method === 'POST' && query.has('uploads')) return this.#begin(call);
    if (method === 'POST' && query.has('uploadId')) return this.#complete(call);
    if (method === 'DELETE' && query.has('uploadId')) return this.#abort(query);
    if (method === 'DELETE') {
      this.objects.delete(key);
      return { status: 204 };
    }
    if (method === 'GET' || method === 'HEAD') return this.#get(call);
    throw new S3Refusal(501, 'NotImplemented');
  }

  #put({ key, headers, body }: Call): Reply {
    this.objects.set(key, { body, headers: keptHeaders(headers) });
    return { status: 200, headers: { ETag: etag(body) } };
  }

  #get({ key, query, headers }: Call): Reply {
    const stored = this.objects.get(key);
    if (!stored) throw new S3Refusal(404, 'NoSuchKey');
    const wanted = [...query].filter(([name]) => name.startsWith('response-'));
    const own = Object.fromEntries(wanted.map(([name, value]) => [name.slice('response-'.length), value]));
    const { body } = stored;
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headers['range'] ?? '') ?? [];
    const common = { ETag: etag(body), ...stored.headers, ...own };
    if (first === undefined)
      return { status: 200, headers: { 'Content-Length': String(body.length), ...common }, body };
    const end = last === '' || last === undefined ? body.length : Math.min(Number(last) + 1, body.length);
    if (Number(first) >= body.length) throw new S3Refusal(416, 'InvalidRange');
    const range = { 'Content-Range': `bytes ${first}-${end - 1}/${body.length}` };
    return { status: 206, headers: { ...common, ...range }, body: body.subarray(Number(first), end) };
  }

  #begin({ key, headers }: Call): Reply {
    const id = randomUUID();
    this.uploads.set(id, { key, headers: keptHeaders(headers), parts: new Map() });
    return { status: 200, body: xml('InitiateMultipartUploadResult', element('Key', key) + element('UploadId', id)) };
  }

  #putPart({ query, body }: Call): Reply {
    this.#upload(query).parts.set(Number(query.get('partNumber')), body);
    return { status: 200, headers: { ETag: etag(body) } };
  }

  #complete({ key, query, body }: Call): Reply {
    const { headers, parts } = this.#upload(query);
    const listed = [...body.toString().matchAll(/<Part>.*?<\/Part>/gs)].map(([part]) => {
      const [, number = ''] = /<PartNumber>(\d+)<\/PartNumber>/.exec(part) ?? [];
      const [, tag = ''] = /<ETag>(.*?)<\/ETag>/.exec(part) ?? [];
      const content = parts.get(Number(number));
      if (!content || tag.replaceAll('&quot;', '"') !== etag(content)) throw new S3Refusal(400, 'InvalidPart');
      return content;
    });
    if (listed.slice(0, -1).some(({ length }) => length < leastPartBytes)) throw new S3Refusal(400, 'EntityTooSmall');
    this.uploads.delete(query.get('uploadId') ?? '');
    this.objects.set(key, { body: Buffer.concat(listed), headers });
    return { status: 200, body: xml('CompleteMultipartUploadResult', element('Key', key)) };
  }

  #abort(query: URLSearchParams): Reply {
    this.#upload(query);
    this.uploads.delete(query.get('uploadId') ?? '');
    return { status: 204 };
  }

  #upload(query: URLSearchParams): Upload {
    const upload = this.uploads.get(query.get('uploadId') ?? '');
    if (!upload) throw new S3Refusal(404, 'NoSuchUpload');
    return upload;
  }

  #list(query: URLSearchParams): Reply {
    const { names, prefixes, more } = page([...this.objects.keys()], query, query.get('continuation-token'));
    const contents = names.map((key) => {
      const size = element('Size', String(this.objects.get(key)?.body.length));
      return `<Contents>${element('Key', key)}${size}</Contents>`;
    });
    const next = more === undefined ? '' : element('NextContinuationToken', more);
    const truncated = element('IsTruncated', String(more !== undefined));
    return {
      status: 200,
      body: xml('ListBucketResult', contents.join('') + prefixElements(prefixes) + truncated + next),
    };
  }

  #listUploads(query: URLSearchParams): Reply {
    const ids = new Map([...this.uploads].map(([id, { key }]) => [key, id]));
    const { names, prefixes, more } = page([...ids.keys()], query, query.get('key-marker'));
    const uploads = names.map(
      (key) => `<Upload>${element('Key', key)}${element('UploadId', ids.get(key) ?? '')}</Upload>`,
    );
    const next = more === undefined ? '' : element('NextKeyMarker', more);
    const truncated = element('IsTruncated', String(more !== undefined));
    return {
      status: 200,
      body: xml('ListMultipartUploadsResult', uploads.join('') + prefixElements(prefixes) + truncated + next),
    };
  }
}

const prefixElements = (prefixes: readonly string[]) =>
  prefixes.map((prefix) => `<CommonPrefixes>${element('Prefix', prefix)}</CommonPrefixes>`).join('');

/** Names from behind `after` on; those that share what comes before the delimiter are one prefix. */
function page(
  all: readonly string[],
  query: URLSearchParams,
  after: string | null,
): { names: string[]; prefixes: string[]; more: string | undefined } {
  const [prefix, delimiter] = [query.get('prefix') ?? '', query.get('delimiter') ?? ''];
  const folded = all
    .filter((name) => name.startsWith(prefix))
    .map((name) => {
      const end = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
      return end < 0 ? name : name.slice(0, end + 1);
    });
  const behind = [...new Set(folded)].sort().filter((name) => after === null || name > after);
  const shown = behind.slice(0, keysPerPage);
  const isPrefix = (name: string) => delimiter !== '' && name.endsWith(delimiter);
  return {
    names: shown.filter((name) => !isPrefix(name)),
    prefixes: shown.filter(isPrefix),
    more: behind.length > shown.length ? shown.at(-1) : undefined,
  };
}

const keptHeaders = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('x-amz-meta-')),
  );

const etag = (body: Buffer) => `"${createHash('md5').update(body).digest('hex')}"`;
