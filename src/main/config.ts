import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { readEventStoreAddress } from '../adapters/event-store-address.ts';
import { minSecretLength } from '../adapters/secrets.ts';
import { email } from '../domain/account-events.ts';
import { readPlanCatalogue } from '../domain/plans.ts';
import type { PlanCatalogue } from '../domain/plans.ts';

/** The only reader of the environment: once, validated, frozen. A bad value is a refusal to start that names it. */

export const projectDirectory = fileURLToPath(new URL('../..', import.meta.url));

/** A setting or a part that is missing or wrong; the message tells what to do. */
export class ConfigurationRefused extends Error {
  override readonly name = 'ConfigurationRefused';
}

const address = (...protocols: string[]) =>
  z
    .string()
    .refine(
      (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
      `must be an address that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    );
const eventStoreAddress = z.string().transform((given, context) => {
  const read = readEventStoreAddress(given);
  if ('address' in read) return read.address;
  context.addIssue(read.fault);
  return z.NEVER;
});
const webAddress = address('http:', 'https:').transform((value) => value.replace(/\/+$/, ''));
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const flag = z.enum(['0', '1']).transform((value) => value === '1');
const list = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const secret = z.string().min(minSecretLength, `must have at least ${String(minSecretLength)} characters`);

/** An address, a network, or one of the names that stand for the well-known private ones. */
function isNetwork(value: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(value)) return true;
  const [address = '', prefix, ...more] = value.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** Whatever else an address may hold would be ignored without a word. */
function isMailServer(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { hostname, pathname, search, hash } = new URL(value);
  return hostname !== '' && ['', '/'].includes(pathname) && search === '' && hash === '';
}

export const environment = z.object({
  REELTALLY_DATA: z.string().min(1).optional(),
  EVENTSTORE_URL: eventStoreAddress.optional(),
  EVENTSTORE_PREFIX: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,61}-$/,
      'must be made of small letters, digits, ".", "_" and "-", with a "-" at its end',
    )
    .optional(),
  DATABASE_URL: address('postgres:', 'postgresql:').optional(),
  NATS_URL: address('nats:', 'tls:').optional(),
  SAMPLE_PLATFORM_URL: address('http:')
    .transform((value) => new URL(value).origin)
    .optional(),
  PORT: whole(0, 65_535).default(8080),
  HOST: z.string().min(1).default('127.0.0.1'),
  HEALTH_PORT: whole(0, 65_535).default(0),
  PUBLIC_URL: webAddress.optional(),
  DOWNLOAD_URL: webAddress.optional(),
  REELTALLY_SECRET: secret.optional(),
  REELTALLY_OLD_SECRETS: list.pipe(z.array(secret)).default([]),
  DEMO: flag.optional(),
  PLANS_FILE: z.string().min(1).default(join(projectDirectory, 'deploy/plans.json')),
  FILES_DIRECTORY: z.string().min(1).optional(),
  WORK_DIRECTORY: z.string().min(1).optional(),
  ENGINE_DIRECTORY: z.string().min(1).optional(),
  SANDBOX: z.enum(['required', 'weak']).default('required'),
  S3_BUCKET: z.string().min(1).optional(),
  S3_PREFIX: z
    .string()
    .regex(/^(?:[\w.-]+\/)*$/, 'must be made of letters, digits, "_", "." and "-", with a slash behind each part')
    .default(''),
  S3_REGION: z.string().min(1).default('us-east-1'),
  S3_ENDPOINT: webAddress.optional(),
  S3_PUBLIC_ENDPOINT: webAddress.optional(),
  S3_FORCE_PATH_STYLE: flag.default(false),
  S3_ACCESS_KEY_ID: z.string().min(1).optional(),
  S3_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  TRUSTED_PROXIES: list
    .refine((networks) => networks.every(isNetwork), 'must hold addresses or networks such as 10.0.0.0/8, with commas')
    .default([]),
  UNAUTHENTICATED_HOURLY_LIMIT: whole(1, 100_000).default(100),
  WORKER_SLOTS: whole(1, 64).default(2),
  MAX_JOBS_PER_ACCOUNT: whole(1, 10_000).default(10),
  MAX_JOBS_PER_PLATFORM: whole(1, 64).default(64),
  MIN_FREE_DISK_MIB: whole(0, 1_000_000_000).default(2_048),
  MAX_FILE_MIB: whole(1, 1_000_000).default(4_096),
  MAX_VIDEO_SIDE: whole(144, 8_640).default(2_160),
  MAX_DURATION_SECONDS: whole(1, 1_000_000).default(14_400),
  ATTEMPT_TIMEOUT_SECONDS: whole(10, 86_400).default(1_800),
  FILE_RETENTION_SECONDS: whole(60, 315_360_000).default(86_400),
  CLOSING_GRACE_SECONDS: whole(0, 2_592_000).default(3_600),
  INVOICE_ISSUER: z.string().min(1).max(200).default('Reeltally'),
  YTDLP_PATH: z.string().min(1).optional(),
  FFMPEG_PATH: z.string().min(1).optional(),
  FFPROBE_PATH: z.string().min(1).optional(),
  NATS_SERVER_PATH: z.string().min(1).optional(),
  SMTP_URL: address('smtp:', 'smtps:')
    .refine(isMailServer, 'must hold nothing but user, password, host and port')
    .optional(),
  MAIL_FROM: email.default('reeltally@localhost'),
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress.optional(),
  /** Share of the requests that are traced. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
  REELTALLY_CLOCK_OFFSET_SECONDS: z.coerce.number().int().min(-4e9).max(4e9).default(0),
  /** Set by npm in what it runs. */
  npm_lifecycle_event: z.string().optional(),
  PATH: z.string().default('/usr/bin:/bin'),
});

type Environment = z.output<typeof environment>;

export interface Config extends Readonly<Environment> {
  /** Absolute. */
  dataDirectory: string;
  /** No address of an engine was given: all parts are embedded. */
  allEmbedded: boolean;
  plans: PlanCatalogue;
  /** Of this service, as its package says. */
  version: string;
}

/**
 * @param variables usually `process.env`; an empty variable counts as one that is not set
 * @throws {ConfigurationRefused} naming every variable at fault
 */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
    throw new ConfigurationRefused(`The environment has settings that cannot be used:\n${faults.join('\n')}`);
  }
  const settings = parsed.data;
  if (settings.SMTP_URL !== undefined && given['MAIL_FROM'] === undefined) {
    throw new ConfigurationRefused('MAIL_FROM: with SMTP_URL, name the address that warning mails come from.');
  }
  refuseHalfOfS3(settings);
  const config: Config = {
    ...settings,
    dataDirectory: resolve(settings.REELTALLY_DATA ?? join(projectDirectory, '.reeltally')),
    allEmbedded: !settings.EVENTSTORE_URL && !settings.DATABASE_URL && !settings.NATS_URL,
    plans: readPlans(settings.PLANS_FILE),
    version: readVersion(),
  };
  return Object.freeze(config);
}

function refuseHalfOfS3({ S3_BUCKET, FILES_DIRECTORY, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: Environment): void {
  if (S3_BUCKET !== undefined && FILES_DIRECTORY !== undefined)
    throw new ConfigurationRefused('S3_BUCKET, FILES_DIRECTORY: set one of the two; finished files lie in one place.');
  if ((S3_ACCESS_KEY_ID === undefined) !== (S3_SECRET_ACCESS_KEY === undefined))
    throw new ConfigurationRefused('S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: set both, or neither.');
}

function readPlans(file: string): PlanCatalogue {
  if (!existsSync(file)) throw new ConfigurationRefused(`PLANS_FILE: there is no file ${file}`);
  try {
    return readPlanCatalogue(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigurationRefused(`PLANS_FILE: ${file} cannot be used:\n${why}`);
  }
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8'));
  return z.object({ version: z.string() }).parse(manifest).version;
}

/** Who runs the command line, for the record of what staff did. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
