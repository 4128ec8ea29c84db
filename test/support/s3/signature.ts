import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/**
 * AWS Signature Version 4 as a server checks it, written from the public specification and sharing nothing with the client
 * that signs: "Authenticating Requests (AWS Signature Version 4)", Amazon S3 API Reference.
 */

export interface SignedRequest {
  method: string;
  /** Path and query, exactly as they came over the wire. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface Verifier {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
  /** The server's clock, in milliseconds since 1970. */
  nowMs: () => number;
}

export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const algorithm = 'AWS4-HMAC-SHA256';
const allowedSkewMs = 900_000;
const longestExpirySeconds = 604_800;

/**
 * @returns the body that was sent, without the framing of its transfer
 * @throws {SignatureRefused} unless the request was signed with this key, for this moment
 */
export function verifySignature(request: SignedRequest, verifier: Verifier): Buffer {
  const [path = '', search = ''] = request.url.split('?', 2);
  const query =
    search === ''
      ? []
      : search.split('&').map((pair): [string, string] => {
          const [name = '', value = ''] = pair.split('=', 2);
          return [decode(name), decode(value)];
        });
  const signed = query.some(([name]) => name === 'X-Amz-Algorithm')
    ? fromQuery(query, verifier)
    : fromHeader(request, verifier);
  const { amzDate, signature, signedHeaders, payloadHash } = signed;
  if (!signedHeaders.includes('host')) throw new SignatureRefused('AccessDenied', 'the host was not signed');
  for (const name of Object.keys(request.headers))
    if (name.startsWith('x-amz-') && !signedHeaders.includes(name))
      throw new SignatureRefused('AccessDenied', `the header ${name} was not signed`);
  const canonicalHeaders = signedHeaders.map(
    (name) => `${name}:${(request.headers[name] ?? '').trim().replace(/ +/g, ' ')}\n`,
  );
  const canonicalRequest = [
    request.method,
    path
      .split('/')
      .map((segment) => encode(decode(segment)))
      .join('/'),
    query
      .filter(([name]) => name !== 'X-Amz-Signature')
      .map(([name, value]) => [encode(name), encode(value)] as const)
      .sort(byCodePoint)
      .map(([name, value]) => `${name}=${value}`)
      .join('&'),
    canonicalHeaders.join(''),
    signedHeaders.join(';'),
    payloadHash,
  ].join('\n');
  const day = amzDate.slice(0, 8);
  const scope = `${day}/${verifier.region}/s3/aws4_request`;
  if (signed.credential !== `${verifier.accessKeyId}/${scope}`)
    throw new SignatureRefused('InvalidAccessKeyId', 'another key, day, region or service');
  const stringToSign = [algorithm, amzDate, scope, sha256(canonicalRequest)].join('\n');
  const signingKey = [day, verifier.region, 's3', 'aws4_request'].reduce<Buffer>(
    (key, part) => hmac(key, part),
    Buffer.from(`AWS4${verifier.secretAccessKey}`),
  );
  const [expected, given] = [hmac(signingKey, stringToSign), Buffer.from(signature, 'hex')];
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new SignatureRefused('SignatureDoesNotMatch', 'the signature is another one');
  return checkedBody(request, payloadHash);
}

interface Signed {
  credential: string;
  amzDate: string;
  signature: string;
  signedHeaders: string[];
  payloadHash: string;
}

function fromHeader({ headers }: SignedRequest, { nowMs }: Verifier): Signed {
  const [, credential = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers['authorization'] ?? '',
    ) ?? [];
  if (signature === '') throw new SignatureRefused('AccessDenied', 'the request is not signed');
  const amzDate = headers['x-amz-date'] ?? '';
  if (!(Math.abs(nowMs() - instantOf(amzDate)) <= allowedSkewMs))
    throw new SignatureRefused('RequestTimeTooSkewed', 'the request is of another time');
  const payloadHash = headers['x-amz-content-sha256'] ?? '';
  return { credential, amzDate, signature, signedHeaders: names.split(';'), payloadHash };
}

function fromQuery(query: readonly [string, string][], { nowMs }: Verifier): Signed {
  const only = (name: string): string => {
    const values = query.filter(([given]) => given === name).map(([, value]) => value);
    if (values.length !== 1) throw new SignatureRefused('AuthorizationQueryParametersError', `${name} is needed once`);
    return values[0] ?? '';
  };
  if (only('X-Amz-Algorithm') !== algorithm)
    throw new SignatureRefused('AuthorizationQueryParametersError', 'another algorithm');
  const [amzDate, expires] = [only('X-Amz-Date'), only('X-Amz-Expires')];
  const expiresSeconds = /^\d{1,6}$/.test(expires) ? Number(expires) : NaN;
  if (!(expiresSeconds >= 1 && expiresSeconds <= longestExpirySeconds))
    throw new SignatureRefused('AuthorizationQueryParametersError', 'X-Amz-Expires is out of its range');
  const signedAtMs = instantOf(amzDate);
  if (!(nowMs() >= signedAtMs - allowedSkewMs)) throw new SignatureRefused('AccessDenied', 'Request is not valid yet');
  if (!(nowMs() < signedAtMs + expiresSeconds * 1000))
    throw new SignatureRefused('AccessDenied', 'Request has expired');
  return {
    credential: only('X-Amz-Credential'),
    amzDate,
    signature: only('X-Amz-Signature'),
    signedHeaders: only('X-Amz-SignedHeaders').split(';'),
    payloadHash: 'UNSIGNED-PAYLOAD',
  };
}

/** The body must be what its hash says, where it has one. */
function checkedBody({ headers, body }: SignedRequest, payloadHash: string): Buffer {
  if (payloadHash === 'UNSIGNED-PAYLOAD') return body;
  if (payloadHash === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') {
    const content = unchunked(body);
    if (content.length !== Number(headers['x-amz-decoded-content-length']))
      throw new SignatureRefused('IncompleteBody', 'the body has another length than it says');
    return content;
  }
  if (sha256(body) !== payloadHash)
    throw new SignatureRefused('XAmzContentSHA256Mismatch', 'the body is another one than was signed');
  return body;
}

/** `aws-chunked`: chunks behind their length in hexadecimal, an empty one, then trailing headers. */
function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let from = 0; ;) {
    const end = body.indexOf('\r\n', from);
    const length = end < 0 ? NaN : Number.parseInt(body.toString('latin1', from, end), 16);
    if (!(length >= 0)) throw new SignatureRefused('InvalidChunkSizeError', 'a chunk has no length');
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(body.subarray(end + 2, end + 2 + length));
    from = end + 2 + length + 2;
  }
}

function instantOf(amzDate: string): number {
  const [, year = '', month = '', day = '', hour = '', minute = '', second = ''] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(amzDate) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new SignatureRefused('InvalidURI', 'the address cannot be read');
  }
}

/** All but the unreserved characters of RFC 3986, in capital hexadecimal. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

function byCodePoint(
  [name, value]: readonly [string, string],
  [otherName, otherValue]: readonly [string, string],
): number {
  if (name !== otherName) return name < otherName ? -1 : 1;
  return value < otherValue ? -1 : 1;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();
