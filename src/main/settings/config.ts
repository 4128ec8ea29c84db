import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { printable } from '../../documents/text.ts';
import { type OfferedPlans, readPlanFile } from '../../domain/plans.ts';
import { ConfigurationRefused } from './configuration-refused.ts';
import { checkNames, isFromKubernetes, type Misspelt } from './misspelt-settings.ts';
import { fileVariable, withSecretFiles } from './secret-files.ts';
import * as kinds from './setting-kinds.ts';

/** The only reader of the environment: once, validated, frozen. A bad value is a refusal to start that names it. */

export const projectDirectory = fileURLToPath(new URL('../../..', import.meta.url));

export const bundledPlansFile = join(projectDirectory, 'deploy/plans.json');

const { address, anyText, flag, webAddress, whole } = kinds;

export const environment = z.object({
  REELTALLY_DATA: anyText.optional(),
  /** For a client: where the API is, and its key. */
  REELTALLY_URL: webAddress.optional(),
  REELTALLY_KEY: anyText.optional(),
  EVENTSTORE_URL: kinds.eventStoreAddress.optional(),
  EVENTSTORE_PREFIX: kinds
    .matching(
      /^[a-z0-9][a-z0-9._-]{0,61}-$/,
      'must have only lower-case letters, digits, ".", "_" and "-", and end with "-"',
    )
    .optional(),
  DATABASE_URL: address('postgres:', 'postgresql:').optional(),
  NATS_URL: kinds.natsAddress.optional(),
  NATS_REPLICAS: kinds.oneOf(['1', '3', '5']).transform(Number).default(1),
  SAMPLE_PLATFORM_URL: address('http:')
    .transform((value) => new URL(value).origin)
    .optional(),
  PORT: whole(0, 65_535).default(8080),
  HOST: anyText.default('127.0.0.1'),
  HEALTH_PORT: whole(0, 65_535).default(0),
  PUBLIC_URL: webAddress.optional(),
  STAFF_PORT: whole(0, 65_535).optional(),
  STAFF_HOST: anyText.default('127.0.0.1'),
  STAFF_URL: webAddress.optional(),
  OIDC_ISSUER: kinds.providerAddress.optional(),
  OIDC_CLIENT_ID: anyText.optional(),
  OIDC_CLIENT_SECRET: anyText.optional(),
  OIDC_SCOPE: kinds
    .matching(
      /^(?:[!#-[\]-~]+ )*openid(?: [!#-[\]-~]+)*$/,
      'must be words with one space between them, and have "openid" among them',
    )
    .default('openid email profile'),
  /** The claim that says the roles of a person: its name, or the way to it, such as `realm_access.roles`. */
  OIDC_ROLE_CLAIM: anyText.default('roles'),
  DOWNLOAD_URL: webAddress.optional(),
  REELTALLY_SECRET: kinds.secret.optional(),
  REELTALLY_OLD_SECRETS: kinds.secrets.default([]),
  /** Ed25519, 32 bytes in base64: signs the log of what was closed and invoiced. */
  PROOF_SIGNING_KEY: kinds.signingKey.optional(),
  PROOF_ORIGIN: kinds.treeOrigin.optional(),
  /** `empty`: a demo without its story. */
  DEMO: kinds.oneOf(['0', '1', 'empty']).optional(),
  PLANS_FILE: anyText.default(bundledPlansFile),
  FILES_DIRECTORY: anyText.optional(),
  WORK_DIRECTORY: anyText.optional(),
  ENGINE_DIRECTORY: anyText.optional(),
  EGRESS_PROXY: kinds.outgoingProxy.optional(),
  EGRESS_SOURCE_ADDRESS: kinds.ipAddress.optional(),
  PLATFORM_RULES_FILE: anyText.optional(),
  SANDBOX: kinds.oneOf(['required', 'weak']).default('required'),
  S3_BUCKET: anyText.optional(),
  S3_PREFIX: kinds
    .matching(/^(?:[\w.-]+\/)*$/, 'must have only letters, digits, "_", "." and "-", with a slash after each part')
    .default(''),
  S3_REGION: anyText.default('us-east-1'),
  S3_ENDPOINT: webAddress.optional(),
  S3_PUBLIC_ENDPOINT: webAddress.optional(),
  S3_FORCE_PATH_STYLE: flag.default(false),
  S3_ACCESS_KEY_ID: anyText.optional(),
  S3_SECRET_ACCESS_KEY: anyText.optional(),
  LOG_LEVEL: kinds.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).optional(),
  TRUSTED_PROXIES: kinds.networks.default([]),
  UNAUTHENTICATED_HOURLY_LIMIT: whole(1, 100_000).default(100),
  MAX_CONNECTIONS_PER_LINK: whole(1, 100_000).default(8),
  MAX_CONNECTIONS_PER_ADDRESS: whole(1, 100_000).default(64),
  LINK_IDLE_SECONDS: whole(1, 86_400).default(30),
  WORKER_SLOTS: whole(1, 64).default(2),
  MAX_JOBS_PER_ACCOUNT: whole(1, 10_000).default(10),
  MAX_JOBS_PER_PLATFORM: whole(1, 64).default(64),
  MIN_FREE_DISK_MIB: whole(0, 1_000_000_000).default(2_048),
  MAX_FILE_MIB: whole(1, 1_000_000).default(4_096),
  MAX_VIDEO_SIDE: whole(144, 8_640).default(2_160),
  MAX_DURATION_SECONDS: whole(1, 1_000_000).default(14_400),
  ATTEMPT_TIMEOUT_SECONDS: whole(10, 86_400).default(1_800),
  FILE_RETENTION_SECONDS: whole(60, 315_360_000).default(86_400),
  DOCUMENT_RETENTION_YEARS: whole(0, 100).default(10),
  CLOSING_GRACE_SECONDS: whole(0, 2_592_000).default(3_600),
  STAFF_APPROVAL_CENTS: whole(0, 1_000_000_000).default(5_000),
  INVOICE_ISSUER: kinds.shortText(200).default('Reeltally'),
  YTDLP_PATH: anyText.optional(),
  FFMPEG_PATH: anyText.optional(),
  FFPROBE_PATH: anyText.optional(),
  NATS_SERVER_PATH: anyText.optional(),
  SMTP_URL: kinds.mailServer.optional(),
  MAIL_FROM: kinds.email.default('reeltally@localhost'),
  OTEL_EXPORTER_OTLP_ENDPOINT: kinds.collectorAddress.optional(),
  /** Share of the requests that are traced. */
  OTEL_TRACES_SAMPLER_ARG: kinds.share.default(1),
  REELTALLY_CLOCK_OFFSET_SECONDS: whole(-4e9, 4e9).default(0),
  /** Set by npm in the processes that it runs. */
  npm_lifecycle_event: z.string().optional(),
  PATH: z.string().default('/usr/bin:/bin'),
});

/** They are secrets, or addresses that usually hold one. Each may come from a file: `DATABASE_URL_FILE` names that of `DATABASE_URL`. */
export const secretSettings: readonly string[] = [
  ...['REELTALLY_KEY', 'REELTALLY_SECRET', 'REELTALLY_OLD_SECRETS', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ...['PROOF_SIGNING_KEY', 'OIDC_CLIENT_SECRET', 'EGRESS_PROXY'],
  ...['EVENTSTORE_URL', 'DATABASE_URL', 'NATS_URL', 'SMTP_URL', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
];

type Environment = z.output<typeof environment>;

export interface Config extends Readonly<Environment>, OfferedPlans {
  /** Absolute. */
  dataDirectory: string;
  /** No address of a server is set: all of them are embedded. */
  allEmbedded: boolean;
  /** Version of this service, from its package. */
  version: string;
  /** Variables that resemble settings. */
  similarNames: readonly Misspelt[];
}

/**
 * @param variables usually `process.env`; an empty variable counts as one that is not set
 * @throws {ConfigurationRefused} naming every variable at fault, and those that resemble settings
 */
export function readConfig(variables: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.fromEntries(
    Object.entries(variables).filter(([name, value]) => value !== '' && !isFromKubernetes(name, value)),
  );
  const settingNames = [...Object.keys(environment.shape), ...secretSettings.map(fileVariable)];
  const { unknown, similar } = checkNames(Object.keys(set), settingNames);
  try {
    return Object.freeze({ ...checkedConfig(set, unknown), similarNames: similar });
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    // A setting that was meant and misspelt is often why another one is at fault.
    const resembling = similar.map((each) => `\n${misspeltText(each)}`);
    throw new ConfigurationRefused(error.message + resembling.join(''));
  }
}

/** The warning of a variable that may have been meant as a setting. */
export const misspeltText = ({ name, setting }: Misspelt): string =>
  `${name} is not a setting; did you mean ${setting}?`;

function checkedConfig(set: NodeJS.ProcessEnv, unknown: readonly Misspelt[]): Omit<Config, 'similarNames'> {
  const { values: given, faults: fileFaults } = withSecretFiles(set, secretSettings);
  const parsed = environment.safeParse(given);
  const faults = [
    ...unknown.map(({ name, setting }) => `${name}: is not a setting; did you mean ${setting}?`),
    ...fileFaults,
    ...(parsed.error?.issues ?? []).map((issue) => faultOf(issue, given)),
  ];
  if (!parsed.success || faults.length > 0) {
    const lines = [...new Set(faults)].map((fault) => `\n  ${fault}`);
    throw new ConfigurationRefused(`These settings cannot be used:${lines.join('')}`);
  }
  const settings = parsed.data;
  if (settings.SMTP_URL !== undefined && given['MAIL_FROM'] === undefined) {
    throw new ConfigurationRefused('MAIL_FROM: SMTP_URL needs the sender address of mails.');
  }
  refuseHalfOfS3(settings);
  if ((settings.OIDC_ISSUER === undefined) !== (settings.OIDC_CLIENT_ID === undefined))
    throw new ConfigurationRefused('OIDC_ISSUER, OIDC_CLIENT_ID: set both, or neither.');
  return {
    ...settings,
    dataDirectory: resolve(settings.REELTALLY_DATA ?? join(projectDirectory, '.reeltally')),
    allEmbedded: !settings.EVENTSTORE_URL && !settings.DATABASE_URL && !settings.NATS_URL,
    ...loadPlans(settings.PLANS_FILE),
    version: readVersion(),
  };
}

/** Reads and checks the plans of an installation. @throws {ConfigurationRefused} telling why the file cannot be used */
function loadPlans(file: string): OfferedPlans {
  if (!existsSync(file)) throw new ConfigurationRefused(`PLANS_FILE: there is no file ${file}`);
  try {
    return readPlanFile(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new ConfigurationRefused(`PLANS_FILE: ${file} cannot be used:\n${why}`);
  }
}

const shownCharacters = 60;

function faultOf({ path, message }: z.core.$ZodIssue, given: NodeJS.ProcessEnv): string {
  const name = String(path[0]);
  if (secretSettings.includes(name)) return `${name}: ${message}`;
  const value = withoutUser(given[name] ?? '');
  return `${name}: ${message}, and is "${printable(value.slice(0, shownCharacters))}"`;
}

/**
 * Hides user and password where a value may be an address with them, however wrong it is: everything before the last @, if it
 * has a sign that no e-mail address has. So it also holds for a password with an unencoded sign.
 */
function withoutUser(value: string): string {
  return /[:/\\].*@/s.test(value) ? value.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1…@') : value;
}

function refuseHalfOfS3({ S3_BUCKET, FILES_DIRECTORY, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY }: Environment): void {
  if (S3_BUCKET !== undefined && FILES_DIRECTORY !== undefined)
    throw new ConfigurationRefused(
      'S3_BUCKET, FILES_DIRECTORY: set only one of the two; finished files have one place.',
    );
  if ((S3_ACCESS_KEY_ID === undefined) !== (S3_SECRET_ACCESS_KEY === undefined))
    throw new ConfigurationRefused('S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: set both, or neither.');
}

/** Version of this service, from its package. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8'));
  return z.object({ version: z.string() }).parse(manifest).version;
}

/** The user of the command line, recorded as the actor of its changes. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
