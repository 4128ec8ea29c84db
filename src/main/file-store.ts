import { join } from 'node:path';
import type { Logger } from 'pino';
import type { DerivedKeys, Secrets } from '../adapters/derive-keys.ts';
import { createLocalFileStore, type LocalFileStore } from '../adapters/files/local-file-store.ts';
import { createS3FileStore, S3NotInstalled } from '../adapters/files/s3-file-store.ts';
import { type FileStore, FileStoreUnavailable } from '../ports/files.ts';
import type { ServiceParts } from '../ports/service-parts.ts';
import { newUuid } from '../system/clock-and-chance.ts';
import type { Connections } from './connect.ts';
import { serverUnreachable } from './server-unreachable.ts';
import type { Config } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';

/** The folder of finished files; undefined if they lie in a bucket. */
export const filesDirectory = ({ S3_BUCKET, FILES_DIRECTORY, dataDirectory }: Config): string | undefined =>
  S3_BUCKET === undefined ? (FILES_DIRECTORY ?? join(dataDirectory, 'files')) : undefined;

/**
 * Opens the store of finished files, the same for all processes. `served` is set if this service itself serves them.
 *
 * @throws {ConfigurationRefused} when the bucket cannot be used
 */
export async function openFiles(
  connections: Pick<Connections, 'config' | 'clock' | 'logger' | 'serviceParts' | 'publicUrl'>,
  secrets: Secrets,
): Promise<{ files: FileStore; served: LocalFileStore | undefined }> {
  const { config, clock, logger, serviceParts } = connections;
  const directory = filesDirectory(config);
  if (directory === undefined)
    return { files: await openBucket(config, clock.realNowMs, { logger, serviceParts }), served: undefined };
  const files = openDirectory(connections, directory, secrets);
  return { files, served: files };
}

function openDirectory(
  connections: Pick<Connections, 'config' | 'publicUrl'>,
  directory: string,
  { current, others }: Secrets,
): LocalFileStore {
  const signingKey = ({ id, linkKey }: DerivedKeys) => ({ id, key: linkKey });
  return createLocalFileStore({
    directory,
    downloadBaseUrl: () => connections.config.DOWNLOAD_URL ?? connections.publicUrl,
    signingKeys: { current: signingKey(current), others: others.map(signingKey) },
    nonce: newUuid,
  });
}

async function openBucket(
  config: Config,
  nowMs: () => number,
  reporting: { logger: Logger; serviceParts: ServiceParts },
): Promise<FileStore> {
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey, S3_BUCKET: bucket = '' } = config;
  const hasKey = accessKeyId !== undefined && secretAccessKey !== undefined;
  try {
    return await createS3FileStore({
      bucket,
      prefix: config.S3_PREFIX,
      region: config.S3_REGION,
      endpoint: config.S3_ENDPOINT,
      publicEndpoint: config.S3_PUBLIC_ENDPOINT,
      forcePathStyle: config.S3_FORCE_PATH_STYLE,
      credentials: hasKey ? { accessKeyId, secretAccessKey } : undefined,
      nowMs,
      nonce: newUuid,
      ...reporting,
    });
  } catch (error) {
    if (error instanceof S3NotInstalled) throw new ConfigurationRefused(`S3_BUCKET: ${error.message}.`);
    if (!(error instanceof FileStoreUnavailable)) throw error;
    const url = config.S3_ENDPOINT ?? `s3.${config.S3_REGION}.amazonaws.com`;
    const setting = config.S3_ENDPOINT === undefined ? 'S3_REGION' : 'S3_ENDPOINT';
    throw serverUnreachable(`The bucket ${bucket} (S3_BUCKET)`, { url, setting }, error);
  }
}
