import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { downloadNameOf } from '../../domain/download-name.ts';
import { plainText } from '../../domain/plain-text.ts';
import { type PlatformConfiguration, platformNames } from '../../domain/platforms/platforms.ts';
import { type OutgoingRoute, OutgoingRouteFailed } from '../../downloader/egress/outgoing-route.ts';
import type { PlatformRules } from '../../ports/platform-rules.ts';
import { readPrivateText } from '../../system/private-files.ts';
import type { Config } from './config.ts';
import { ConfigurationRefused } from './configuration-refused.ts';
import { outgoingProxyOf } from './setting-kinds.ts';

/**
 * The file of the operator's rules (`PLATFORM_RULES_FILE`). It is read again when it changes, without a restart. A change that
 * cannot be used is logged, and the rules before it stay: a typing error must lift no block.
 */

const reason = plainText(300).min(1, 'is missing');
const path = z.string().min(1);

const schema = z.strictObject({
  platforms: z
    .record(
      z.string(),
      z.strictObject({
        /** Why it is switched off; clients see this. */
        off: reason.optional(),
        /** File with the address of its outgoing proxy, which may have user and password: mode 0600. */
        proxy_file: path.optional(),
        source_address: z
          .string()
          .refine((value) => isIP(value) !== 0, 'must be an IP address')
          .optional(),
        /** File with its cookies, in Netscape's format: mode 0600. */
        cookies_file: path.optional(),
      }),
    )
    .default({}),
  blocked: z.array(z.strictObject({ platform: z.string(), video_id: z.string().min(1), reason })).default([]),
});
type Contents = z.output<typeof schema>;

/** What a worker needs besides. */
export interface DownloadRules extends PlatformRules {
  /** The way of a platform's own, or undefined. @throws {OutgoingRouteFailed} if its proxy file cannot be used */
  routeOf: (platform: string) => OutgoingRoute | undefined;
  /** Path of the file with a platform's cookies. */
  cookiesFileOf(platform: string): string | undefined;
}

interface Loaded {
  contents: Contents;
  reasons: ReadonlyMap<string, string>;
  fileNames: ReadonlySet<string>;
}

const nothing: Loaded = { contents: { platforms: {}, blocked: [] }, reasons: new Map(), fileNames: new Set() };
const nameOf = (platform: string, videoId: string): string => `${platform} ${videoId}`;

/** @throws with a text that names the fault */
function load(file: string, configuration: PlatformConfiguration): Loaded {
  const contents = schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const known = new Set(platformNames(configuration));
  const named = [...Object.keys(contents.platforms), ...contents.blocked.map(({ platform }) => platform)];
  const unknown = named.find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`there is no platform ${JSON.stringify(unknown)}`);
  return {
    contents,
    reasons: new Map(contents.blocked.map((item) => [nameOf(item.platform, item.video_id), item.reason])),
    fileNames: new Set(contents.blocked.map((item) => downloadNameOf(item.platform, item.video_id))),
  };
}

const faultOf = (error: unknown): string =>
  error instanceof z.ZodError ? z.prettifyError(error) : error instanceof Error ? error.message : String(error);

/** Changes with the file, also if a link to it is turned to another one. */
function fingerprintOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/**
 * @param samplePlatformOrigin of the sample platform, which rules may name too
 * @throws {ConfigurationRefused} if the file cannot be used
 */
export function openPlatformRules(
  { PLATFORM_RULES_FILE: file }: Pick<Config, 'PLATFORM_RULES_FILE'>,
  { samplePlatformOrigin, logger }: PlatformConfiguration & { logger: Pick<Logger, 'error' | 'warn'> },
): DownloadRules {
  const configuration = { samplePlatformOrigin: samplePlatformOrigin ?? 'http://sample.invalid' };
  let fingerprint = file === undefined ? '' : fingerprintOf(file);
  let loaded = nothing;
  try {
    if (file !== undefined) loaded = load(file, configuration);
  } catch (error) {
    throw new ConfigurationRefused(`PLATFORM_RULES_FILE: ${String(file)} cannot be used:\n${faultOf(error)}`);
  }
  const current = (): Loaded => {
    if (file === undefined) return loaded;
    const found = fingerprintOf(file);
    if (found === fingerprint) return loaded;
    fingerprint = found;
    try {
      loaded = load(file, configuration);
      logger.warn({ rules: loaded.contents }, 'the rules about platforms were changed');
    } catch (error) {
      logger.error(
        { file, fault: faultOf(error) },
        'the changed rules about platforms cannot be used; those before stay',
      );
    }
    return loaded;
  };
  const ofPlatform = (platform: string) => {
    const { platforms } = current().contents;
    return Object.hasOwn(platforms, platform) ? platforms[platform] : undefined;
  };
  /** Paths in the file begin at its folder. */
  const besides = (name: string) => resolve(dirname(file ?? '.'), name);
  return {
    whyOff: (platform) => ofPlatform(platform)?.off,
    whyBlocked: ({ platform, videoId }) => current().reasons.get(nameOf(platform, videoId)),
    blocksFile: (name) => current().fileNames.has(name),
    routeOf: (platform) => {
      const { proxy_file: proxyFile, source_address: sourceAddress } = ofPlatform(platform) ?? {};
      if (proxyFile === undefined) return sourceAddress === undefined ? undefined : { sourceAddress };
      return { proxy: proxyIn(besides(proxyFile)), sourceAddress };
    },
    cookiesFileOf: (platform) => {
      const name = ofPlatform(platform)?.cookies_file;
      return name === undefined ? undefined : besides(name);
    },
  };
}

function proxyIn(file: string): OutgoingRoute['proxy'] {
  try {
    const proxy = outgoingProxyOf(readPrivateText(file).trim());
    if (proxy === undefined) throw new Error(`${file} must hold an address such as http://user:password@proxy:3128`);
    return proxy;
  } catch (error) {
    throw new OutgoingRouteFailed(error instanceof Error ? error.message : String(error));
  }
}
