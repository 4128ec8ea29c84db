import { createSecretKey } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Admission } from '../../projections/admission/admission.ts';
import type { PolledJob } from '../../projections/jobs.ts';
import { sleep } from '../../src/async/sleep.ts';
import { RequestTokens } from '../../src/commands/ids/request-token.ts';
import { newStaffCache } from '../../src/commands/staff.ts';
import { WriterRegistry } from '../../src/commands/usage/writer-registry.ts';
import { startCarryingOutCorrections } from '../../src/dispatcher/carry-out-corrections.ts';
import { startClosingPeriods } from '../../src/dispatcher/close-periods.ts';
import { dispatchDownloads } from '../../src/dispatcher/dispatch-downloads.ts';
import { startExpiringFiles } from '../../src/dispatcher/expire-files.ts';
import { startRemovingFiles } from '../../src/dispatcher/remove-files.ts';
import { startResolving } from '../../src/dispatcher/resolve-unknown-outcomes.ts';
import { startReturningServiceFailures } from '../../src/dispatcher/return-service-failures.ts';
import { startMailingDocuments } from '../../src/dispatcher/send-document-mails.ts';
import { startMailingWarnings } from '../../src/dispatcher/send-warning-mails.ts';
import { startSweeping } from '../../src/dispatcher/sweep-lost-jobs.ts';
import { asApiError } from '../../src/http/as-api-error.ts';
import { createAuthenticate } from '../../src/http/authenticate.ts';
import { endpoints } from '../../src/http/endpoints.ts';
import { ApiError, type ApiErrorCode } from '../../src/http/errors.ts';
import { PartsAway } from '../../src/http/retry-after.ts';
import type { Mailer } from '../../src/ports/billing.ts';
import { ClockIsWrong } from '../../src/ports/clock.ts';
import type { JobQueue } from '../../src/ports/job-queue.ts';
import { noPlatformRules } from '../../src/ports/platform-rules.ts';
import type { RowMacs } from '../../src/ports/row-macs.ts';
import { ServiceParts } from '../../src/ports/service-parts.ts';
import type { MetadataProbe } from '../../src/ports/videos.ts';
import { pause } from './clock.ts';
import { connectToLog } from './event-log-client.ts';
import { type MailServer, messageIdOf } from './mail-server.ts';
import { pendingVoidsOf, type Postgres } from './postgres.ts';
import { portOf, SimulatedProcess } from './process.ts';
import type { JobRow } from './read-models.ts';
import type { SimulatedAccount, World } from './world.ts';

/** A process of the service: its own connections, clock and caches, and none of another's. */
export class ServiceProcess extends SimulatedProcess {
  readonly world: World;
  readonly store: ReturnType<typeof connectToLog>;
  /** In place of a pool of connections: see `replaced-queries.ts`. */
  readonly postgres: Pick<Postgres, 'statement'>;
  /** How far its business time is off; measurements keep it within a second. */
  skewMs: number;
  clockIsWrong = false;
  readonly serviceParts = new ServiceParts(undefined);
  readonly writers: WriterRegistry;

  constructor(name: string, world: World) {
    super(name);
    this.world = world;
    this.skewMs = world.randomness.of('clocks').between(-900, 900);
    this.store = connectToLog(world.log, this, world.network);
    this.postgres = portOf<Pick<Postgres, 'statement'>>(this, world.postgres, world.network.atCall);
    this.writers = new WriterRegistry({ store: this.store, now: this.now, newId: this.newUuid, rows: this.macs });
  }

  now = (): string => {
    if (this.clockIsWrong) throw new ClockIsWrong('the clocks differ');
    return new Date(this.world.realNowMs() + this.skewMs).toISOString();
  };

  newUuid = (): string => this.world.randomness.of('ids').uuid();

  newId = (prefix: string): string => `${prefix}_${this.newUuid().replaceAll('-', '')}`;

  /** No row is forged here, so the log may contradict none. */
  get macs(): RowMacs {
    return {
      secretIds: [],
      sign: () => '',
      signUnderEach: () => [],
      encrypt: () => '',
      decrypt: () => undefined,
      verifies: () => true,
      contradicted: ({ name }) =>
        void this.world.violations.push({ rule: 'rows_believed', what: `${this.name} disbelieves the row of ${name}` }),
    };
  }

  readonly staffCache = newStaffCache();

  get pool(): Pool {
    return this.postgres as unknown as Pool;
  }
}

const silent = (): undefined => undefined;
/** The simulation has a trace of its own. */
export const logger = {
  info: silent,
  warn: silent,
  error: silent,
  debug: silent,
  child: () => logger,
} as unknown as Logger;

export type Operation = '/video/download' | '/video/metadata' | '/video/status' | '/credits';

export interface ApiRequest {
  operation: Operation;
  id: string;
  apiKey: string;
  url?: string;
  idempotencyKey?: string | undefined;
  token?: string;
}

/** What a process answers; `cut`: it has closed the connection. */
export interface ApiAnswer {
  status: number | 'cut';
  /** Of an error. */
  code?: ApiErrorCode;
  data?: Record<string, unknown>;
  creditsRemaining?: number;
}

/** Requests that were under way when the log was closed are answered by then. */
const longestAfterCloseMs = 3_000;

/** The secret of the installation. */
const checkKey = { id: 0, key: createSecretKey(Buffer.alloc(32, 7)) };

/**
 * A process of the role `api`, from the authentication of a request to its answer: the handlers and what is behind them are the
 * service's. Left out are Fastify, the admission's SQL with its hourly window, and the sessions of the console.
 */
export class ApiProcess extends ServiceProcess {
  isStopping = false;
  hasCutConnections = false;
  readonly #answer: (request: ApiRequest) => Promise<ApiAnswer>;

  constructor(name: string, world: World) {
    super(name, world);
    const { store, writers, serviceParts, now, newUuid } = this;
    const port = <Port extends object>(of: Port) => portOf(this, of, world.network.atCall);
    const dependencies = {
      store,
      writers,
      serviceParts,
      now,
      newUuid,
      pendingVoids: pendingVoidsOf(this.postgres, { now, process: name }),
      tokens: new RequestTokens(checkKey, [], (count) => world.randomness.of('tokens').bytes(count)),
      probe: port(probeOf(world)),
      rules: noPlatformRules,
      partsAway: new PartsAway(() => performance.now()),
      addresses: { count: () => ({ window: { limit: 9, remaining: 9, resetAtSeconds: 0 }, exhausted: false }) },
      admissions: port({ admit: (asked: AdmissionRequest) => admit(world, asked) }),
      realNowMs: world.realNowMs,
      shortLinks: undefined,
      samplePlatformOrigin: undefined,
      progress: silent,
      files: port(world.files),
      fileRetentionSeconds: world.fileRetentionSeconds,
    } as unknown as Parameters<(typeof endpoints)[number]['handler']>[0] & Parameters<typeof createAuthenticate>[0];
    const authenticate = createAuthenticate(dependencies);
    const handlers = new Map(endpoints.map((each) => [each.path, { ...each, handle: each.handler(dependencies) }]));
    this.#answer = async (asked) => {
      const endpoint = handlers.get(asked.operation);
      if (!endpoint) throw new Error(`there is no endpoint ${asked.operation}`);
      const answer: ApiAnswer = { status: 500 };
      const { request, reply } = exchangeOf(asked, endpoint, answer);
      try {
        await authenticate(request, reply);
        if (answer.status !== 'cut') await endpoint.handle(request, reply);
      } catch (error) {
        const known = asApiError(error as Error, request);
        const { status, code } = known ?? new ApiError('internal_error');
        Object.assign(answer, { status, code });
        if (!known && !this.hasCutConnections)
          world.violations.push({ rule: 'no_internal_error', what: `${name}: ${String(error)}` });
      }
      const { usageHeaders } = request;
      if (usageHeaders) answer.creditsRemaining = usageHeaders.creditsRemaining();
      return answer;
    };
  }

  /** It takes no more requests, gives those under way some time, cuts their connections, and closes the log. */
  async stop(drainMs: number): Promise<void> {
    this.isStopping = true;
    await pause(drainMs);
    // Nobody hears what it answers from then on.
    this.hasCutConnections = true;
    await this.run(() => this.store.close());
    await pause(longestAfterCloseMs);
    this.kill();
  }

  /** Never settles if the process ends before. */
  answer(request: ApiRequest): Promise<ApiAnswer> {
    return this.run(() => this.#answer(request)).then((answer) => {
      return this.hasCutConnections ? new Promise(() => undefined) : answer;
    });
  }
}

/** As much of Fastify's request and reply as the handlers use. */
function exchangeOf(asked: ApiRequest, config: object, answer: ApiAnswer) {
  const { id, apiKey, url, idempotencyKey, token } = asked;
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  const request = {
    id,
    headers,
    routeOptions: { config },
    log: logger,
    arrivedMs: performance.now(),
    query: { url, token },
    caller: null,
    usageHeaders: null,
    isPlaceOpen: false,
    body: Buffer.from(JSON.stringify({ url })),
    raw: { headers, socket: { destroy: () => (answer.status = 'cut'), destroyed: false } },
  };
  const reply = {
    code: (status: number) => {
      answer.status = status;
      return reply;
    },
    send: ({ data }: { data: Record<string, unknown> }) => {
      answer.data = data;
      return reply;
    },
    header: () => reply,
    hijack: () => reply,
  };
  return { request: request as unknown as FastifyRequest, reply: reply as unknown as FastifyReply };
}

interface AdmissionTables {
  postgres: Postgres;
  /** Keys of the beginning, by their SHA-256. */
  accountsByKey: ReadonlyMap<string, Pick<SimulatedAccount, 'accountId' | 'keyId'>>;
}

interface AdmissionRequest {
  keyHash: string;
  token?: string;
  idempotencyKeyHash?: string;
}

/** Finds what the admission's statement finds. No window is ever full. */
export async function admit(
  { postgres, accountsByKey }: AdmissionTables,
  { keyHash, token, idempotencyKeyHash }: AdmissionRequest,
) {
  return postgres.statement(({ readModels }): Admission | undefined => {
    // The keys of the beginning are in force before the history begins.
    const key = readModels.keys.get(keyHash);
    const account = key ?? accountsByKey.get(keyHash);
    if (!account || key?.isRevoked) return undefined;
    const { accountId, keyId } = account;
    const row = readModels.newestOf(accountId)?.snapshot;
    const job = token === undefined ? undefined : readModels.jobs.get(token);
    return {
      outcome: 'admitted',
      keyId,
      accountId,
      window: { limit: 9, remaining: 9, resetAtSeconds: 0 },
      place: undefined,
      usage: postgres.believed(row && { ...row, coversUpTo: readModels.appliedUpTo }),
      job: job && polledJobOf(job),
      keyed: idempotencyKeyHash === undefined ? undefined : readModels.keyedOf(accountId, idempotencyKeyHash),
    };
  });
}

/** What is given back of a charge comes from read models that are not simulated. */
export function polledJobOf(row: JobRow): PolledJob {
  const { accountId, queued, job, startedAt, finishedAt, failureReason, file, overageCents } = row;
  const { token, platform, videoId, at } = queued;
  return {
    token,
    account_id: accountId,
    platform,
    video_id: videoId,
    status: job.status,
    queued_at: at,
    started_at: startedAt,
    finished_at: finishedAt,
    failure_reason: failureReason as PolledJob['failure_reason'],
    file_claim_revision: job.file?.claimRevision ?? null,
    file_name: file?.name ?? null,
    file_mime: file?.mime ?? null,
    file_size_bytes: file?.sizeBytes ?? null,
    file_expired_at: file?.expiredAt ?? null,
    cents: overageCents ?? 0,
    credits: overageCents === null ? 1 : 0,
    given_back_cents: 0,
  };
}

function probeOf({ network: { happens, delayMs } }: World): MetadataProbe {
  return {
    probe: async () => {
      await sleep(happens('probe_late') ? delayMs(1_000, 20_000) : delayMs(5, 300));
      if (happens('probe_fails')) return { ok: false, reason: 'platform_error', detail: 'simulated' };
      return { ok: true, metadata: { title: 't', durationSeconds: 1, thumbnail: '', downloadRefusal: null } };
    },
  };
}

export interface Settings {
  graceSeconds: number;
  /** Of the dispatcher's loops. */
  everyMs: number;
}

/** The longest that an attempt may take, and the downloads of an account at a time. */
export const attemptTimeoutSeconds = 60;
export const maxJobsPerAccount = 2;

/** A process of the role `dispatcher` that leads. Another may lead beside it: the lock that keeps it from that is not simulated. */
export class DispatcherProcess extends ServiceProcess {
  constructor(name: string, world: World, { graceSeconds, everyMs }: Settings) {
    super(name, world);
    const { store, serviceParts, now, newUuid, pool, writers, macs } = this;
    const parts = { store, pool, logger, serviceParts, newUuid, now, everyMs };
    const queue = portOf<JobQueue>(this, world.queue, world.network.atCall);
    this.run(() => {
      startResolving({
        ...parts,
        pendingVoids: pendingVoidsOf(this.postgres, { now, process: name }),
      });
      dispatchDownloads({ store, queue, pool });
      startSweeping({ ...parts, queue, attemptTimeoutSeconds, maxJobsPerAccount });
      startCarryingOutCorrections({ ...parts, setAsideMs: 10_000 });
      startClosingPeriods({ ...parts, macs, writers, graceSeconds });
      if (world.mails) startMailings(this, world.mails);
      if (world.parts.files) {
        const files = portOf(this, world.files, world.network.atCall);
        const { fileRetentionSeconds: retentionSeconds } = world;
        startExpiringFiles({ ...parts, retentionSeconds });
        startRemovingFiles({ ...parts, files, retentionSeconds });
      }
      startReturningServiceFailures({
        ...parts,
        setAsideMs: 10_000,
        readCredits: (stream) => this.postgres.statement(({ readModels }) => readModels.credits.get(stream)?.snapshot),
      });
    });
  }
}

function startMailings(process: DispatcherProcess, server: MailServer): void {
  const { world, store, pool, serviceParts, newUuid, now } = process;
  const isNoted = (id: string) => world.postgres.mailClaims.get(id)?.isTaken ?? false;
  const mailer = portOf<Mailer>(
    process,
    { messageIdOf, send: (mail) => server.take(mail, process, () => isNoted(mail.id)) },
    world.network.atCall,
  );
  const mails = {
    store,
    pool,
    logger,
    serviceParts,
    newUuid,
    now,
    mailer,
    mailerId: newUuid(),
    taken: new Set<string>(),
    retryMs: 1_000,
    staleClaimSeconds: 60,
    recordTimeoutMs: 5_000,
  };
  const publicUrl = () => 'https://console.example';
  startMailingWarnings({ ...mails, publicUrl, planNames: new Map() });
  startMailingDocuments({ ...mails, issuer: 'Simulated', publicUrl });
}
