import { addAbortListener } from 'node:events';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import type { Logger } from 'pino';
import { contentDisposition } from '../../domain/content-disposition.ts';
import {
  type FileKey,
  type FileStore,
  FileStoreUnavailable,
  type PutOptions,
  type RemovedFiles,
} from '../../ports/files.ts';
import { servicePart, type ServiceParts } from '../../ports/service-parts.ts';
import { checkedToken, contentTypeOf, isToken, keyPath, notePath } from './file-key.ts';

export interface S3FileStoreOptions {
  bucket: string;
  /** The prefix of every name in the bucket: empty, or with a slash at its end. */
  prefix: string;
  region: string;
  /** The address of a service other than Amazon's. */
  endpoint: string | undefined;
  /** The address in clients' links, if it is another one; signatures cover it. */
  publicEndpoint: string | undefined;
  /** The bucket is in the path instead of the host name. */
  forcePathStyle: boolean;
  /** Default: found where Amazon's tools find them. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** The real clock, in milliseconds since 1970. */
  nowMs: () => number;
  /** Differs at every call, so that every link is different. */
  nonce: () => string;
  logger: Logger;
  serviceParts?: ServiceParts;
}

/** The packages that speak S3 are not installed. */
export class S3NotInstalled extends Error {
  override readonly name = 'S3NotInstalled';
}

/** For a request that a caller waits for. */
const requestTimeoutMs = 5_000;
const connectTimeoutMs = 3_000;
/** Without a byte from the server. */
const silenceTimeoutMs = 60_000;
const mebibyte = 1024 * 1024;
const leastPartBytes = 8 * mebibyte;
/** S3 takes 10 000. */
const maxParts = 9_000;
const partsAtOnce = 4;

/** Loaded only when needed: it is optional, and large. */
async function loadSdk() {
  try {
    const [s3, storage, presigner] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
      import('@aws-sdk/s3-request-presigner'),
    ]);
    return { ...s3, Upload: storage.Upload, getSignedUrl: presigner.getSignedUrl };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new S3NotInstalled(
      'the packages that speak S3 are optional and not installed; run "npm ci" without --omit=optional',
    );
  }
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>;

/** The state that all parts of the store share. */
interface Context {
  sdk: Sdk;
  client: S3Client;
  /** Signs links, and sends no requests. */
  signer: S3Client;
  options: S3FileStoreOptions;
  nameOf: (key: FileKey) => string;
  /** @throws {FileStoreUnavailable} for any failure */
  reach: <Value>(what: string, work: Promise<Value>) => Promise<Value>;
}

/**
 * Keeps finished files in a bucket of an S3-compatible service. A multipart upload appears only once it is complete. Links are
 * signed here and served by the service itself, so that no file passes through this program.
 *
 * @throws {S3NotInstalled}
 * @throws {FileStoreUnavailable} when the bucket cannot be used
 */
export async function createS3FileStore(options: S3FileStoreOptions): Promise<FileStore> {
  const sdk = await loadSdk();
  const { bucket: Bucket, prefix } = options;
  const part = servicePart(options, 'the file store');
  const client = new sdk.S3Client(clientConfig(options, options.endpoint));
  const context: Context = {
    sdk,
    client,
    options,
    signer: new sdk.S3Client(clientConfig(options, options.publicEndpoint ?? options.endpoint)),
    nameOf: (key) => prefix + keyPath(key),
    reach: async (what, work) => {
      try {
        const value = await work;
        part.works();
        return value;
      } catch (error) {
        const why = reasonOf(error);
        part.failed(what, undefined, { why });
        throw new FileStoreUnavailable(`S3 could not ${what}: ${why}`);
      }
    },
  };
  await client.send(new sdk.HeadBucketCommand({ Bucket }), withinTimeout()).catch((error: unknown) => {
    throw new FileStoreUnavailable(reasonOf(error));
  });
  return {
    put: (key, path, mime, put = {}) => upload(context, key, { path, mime, ...put }),
    sizeBytes: async (key) => sizeOf(context, context.nameOf(key)),
    remove: async (key) => {
      const Key = context.nameOf(key);
      await context.reach('remove a file', client.send(new sdk.DeleteObjectCommand({ Bucket, Key }), withinTimeout()));
    },
    purge: (token, except) => purge(context, token, except?.token === token ? context.nameOf(except) : undefined),
    tokens: () => listTokens(context),
    link: async (key, served) => sign(context, key, served),
    readNote: (name) => readNote(context, prefix + notePath(name)),
    keepNote: async (name, text) => {
      const put = { Bucket, Key: prefix + notePath(name), Body: text, ContentType: 'text/plain; charset=utf-8' };
      await context.reach('keep a note', client.send(new sdk.PutObjectCommand(put), withinTimeout()));
    },
  };
}

function clientConfig(options: S3FileStoreOptions, endpoint: string | undefined): S3ClientConfig {
  const { region, forcePathStyle, credentials } = options;
  return {
    region,
    forcePathStyle,
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials && { credentials }),
    maxAttempts: 3,
    // The signature of a part covers the hash of its bytes. Many services do not support further checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectTimeoutMs, requestTimeout: silenceTimeoutMs },
  };
}

const withinTimeout = () => ({ abortSignal: AbortSignal.timeout(requestTimeoutMs) });

/** The error's name and status only: a response may quote the request with the key's id and its signature. */
function reasonOf(error: unknown): string {
  const { name, code, $metadata } = error as { name?: string; code?: string; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  return [name, code, status && `status ${String(status)}`].filter(Boolean).join(', ');
}

/** @returns undefined for a missing file */
async function sizeOf({ sdk, client, options, reach }: Context, Key: string): Promise<number | undefined> {
  const sent = client.send(new sdk.HeadObjectCommand({ Bucket: options.bucket, Key }), withinTimeout());
  const head = await reach(
    'tell the size of a file',
    sent.catch((error: unknown) => {
      if (error instanceof sdk.NotFound) return undefined;
      throw error;
    }),
  );
  return head?.ContentLength;
}

/** @returns undefined for a missing note */
async function readNote({ sdk, client, options, reach }: Context, Key: string): Promise<string | undefined> {
  const read = async () => {
    const { Body } = await client.send(new sdk.GetObjectCommand({ Bucket: options.bucket, Key }), withinTimeout());
    return await Body?.transformToString();
  };
  return await reach(
    'read a note',
    read().catch((error: unknown) => {
      if (error instanceof sdk.NoSuchKey) return undefined;
      throw error;
    }),
  );
}

async function upload(
  context: Context,
  key: FileKey,
  { path, mime, sha256, signal, onProgress }: PutOptions & { path: string; mime: string },
): Promise<void> {
  const { sdk, client, options, reach } = context;
  const [Bucket, Key] = [options.bucket, context.nameOf(key)];
  if (contentTypeOf(key) !== mime) throw new RangeError(`${key.name} is not served as ${mime}.`);
  signal?.throwIfAborted();
  const { size: sizeBytes } = await stat(path);
  const Body = createReadStream(path);
  const sending = new sdk.Upload({
    client,
    params: { Bucket, Key, Body, ContentType: mime, ...(sha256 !== undefined && { Metadata: { sha256 } }) },
    partSize: Math.max(leastPartBytes, Math.ceil(sizeBytes / maxParts)),
    queueSize: partsAtOnce,
  });
  sending.on('httpUploadProgress', ({ loaded = 0 }) => onProgress?.(loaded));
  using _stopping = signal && addAbortListener(signal, () => void sending.abort());
  try {
    await reach('store a file', sending.done());
  } catch (error) {
    // The upload may be stopped before it cleans up itself. The dispatcher removes any remaining parts.
    await abortUploads(context, Key).catch(() => undefined);
    throw error;
  } finally {
    Body.destroy();
  }
  const storedBytes = await sizeOf(context, Key);
  if (storedBytes !== sizeBytes) {
    throw new FileStoreUnavailable(`S3 has ${String(storedBytes)} bytes of a file of ${String(sizeBytes)}`);
  }
  await rm(path, { force: true });
}

/** Aborts the incomplete uploads with a prefix. */
async function abortUploads({ sdk, client, options, reach }: Context, Prefix: string): Promise<void> {
  const { bucket: Bucket } = options;
  const listing = client.send(new sdk.ListMultipartUploadsCommand({ Bucket, Prefix }), withinTimeout());
  const { Uploads = [] } = await reach('list uploads', listing);
  for (const { Key, UploadId } of Uploads) {
    const aborting = client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }), withinTimeout());
    // Another process may have ended it meanwhile.
    await reach('end an upload', aborting.catch(ignore(sdk.NoSuchUpload)));
  }
}

const ignore = (expected: new (...parameters: never[]) => Error) => (error: unknown) => {
  if (!(error instanceof expected)) throw error;
};

async function purge(context: Context, token: string, except: string | undefined): Promise<RemovedFiles> {
  const { sdk, client, options, reach } = context;
  const { bucket: Bucket } = options;
  const Prefix = `${options.prefix}${checkedToken(token)}/`;
  const removed = { files: 0, bytes: 0 };
  for (let more = true, ContinuationToken: string | undefined; more;) {
    const listing = client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken }), withinTimeout());
    const { Contents = [], IsTruncated, NextContinuationToken } = await reach('list files', listing);
    for (const { Key, Size = 0 } of Contents) {
      if (Key === undefined || Key === except) continue;
      await reach('remove a file', client.send(new sdk.DeleteObjectCommand({ Bucket, Key }), withinTimeout()));
      removed.files += 1;
      removed.bytes += Size;
    }
    [more, ContinuationToken] = [IsTruncated === true, NextContinuationToken];
  }
  await abortUploads(context, Prefix);
  return removed;
}

/** The tokens of files, then those of incomplete uploads. */
async function* listTokens({ sdk, client, options, reach }: Context): AsyncGenerator<readonly string[]> {
  const where = { Bucket: options.bucket, Prefix: options.prefix, Delimiter: '/' };
  const tokensOf = (found: { Prefix?: string | undefined }[] = []) =>
    found.map(({ Prefix = '' }) => Prefix.slice(options.prefix.length, -1)).filter(isToken);
  for (let more = true, ContinuationToken: string | undefined; more;) {
    const listing = client.send(new sdk.ListObjectsV2Command({ ...where, ContinuationToken }), withinTimeout());
    const { CommonPrefixes, IsTruncated, NextContinuationToken } = await reach('list files', listing);
    yield tokensOf(CommonPrefixes);
    [more, ContinuationToken] = [IsTruncated === true, NextContinuationToken];
  }
  for (let more = true, marker: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } = {}; more;) {
    const listing = client.send(new sdk.ListMultipartUploadsCommand({ ...where, ...marker }), withinTimeout());
    const { CommonPrefixes, IsTruncated, NextKeyMarker, NextUploadIdMarker } = await reach('list uploads', listing);
    yield tokensOf(CommonPrefixes);
    more = IsTruncated === true;
    marker = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
  }
}

async function sign(
  { sdk, signer, options, nameOf, reach }: Context,
  key: FileKey,
  { expiresAtSeconds, downloadName }: { expiresAtSeconds: number; downloadName: string },
): Promise<string> {
  const command = new sdk.GetObjectCommand({
    Bucket: options.bucket,
    Key: nameOf(key),
    ResponseCacheControl: 'private, no-store',
    ResponseContentDisposition: contentDisposition(downloadName),
    ResponseContentType: contentTypeOf(key),
  });
  command.middlewareStack.add(
    (next) => (step) => {
      // S3 ignores parameters that begin with `x-`, but signs them, so that two links of the same second differ.
      const request = step.request as { query?: Record<string, string> };
      request.query = { ...request.query, 'x-nonce': options.nonce() };
      return next(step);
    },
    { step: 'build', name: 'nonce' },
  );
  const signedAtSeconds = Math.floor(options.nowMs() / 1000);
  const expiresIn = expiresAtSeconds - signedAtSeconds;
  const signingDate = new Date(signedAtSeconds * 1000);
  return reach('sign a link', sdk.getSignedUrl(signer, command, { expiresIn, signingDate }));
}
