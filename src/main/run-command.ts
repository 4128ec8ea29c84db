import { projections } from '../../projections/all.ts';
import { connectionsOfRebuild, wholeTableMs } from '../../projections/runner/rebuild.ts';
import { connectEventStore } from '../adapters/event-store/event-store.ts';
import { withPersonalData } from '../adapters/event-store/personal-data.ts';
import { createClock } from '../adapters/postgres/business-clock.ts';
import { createErasures } from '../adapters/postgres/erasures.ts';
import { isLed } from '../adapters/postgres/leadership.ts';
import { keepMeasuring, measureClock } from '../adapters/postgres/measure-clock.ts';
import { createPersonalKeys, personalKeysAsSql } from '../adapters/postgres/personal-keys.ts';
import { openPool } from '../adapters/postgres/pool.ts';
import { createReadModelQueries } from '../adapters/postgres/read-model-queries.ts';
import { createRowMacs } from '../adapters/postgres/row-macs.ts';
import { requireOwnSessions } from '../adapters/postgres/session.ts';
import { createStaffLinks } from '../adapters/postgres/staff-links.ts';
import type { RunCommand } from '../cli/dependencies.ts';
import type { Output } from '../cli/output.ts';
import { commandTimeoutMs, tellWait } from '../cli/wait-for-read-models.ts';
import { newStaffCache } from '../commands/staff.ts';
import { WriterRegistry } from '../commands/usage/writer-registry.ts';
import { closePeriods } from '../dispatcher/close-periods.ts';
import { isOurStream } from '../domain/is-our-stream.ts';
import type { EventStore, WholeLog } from '../ports/event-store.ts';
import { isPostgresAway } from '../ports/service-parts.ts';
import { newId, newUuid, randomBits, realNowMs, uptimeMs } from '../system/clock-and-chance.ts';
import { createLogger } from './logger.ts';
import { createStaffInvitations } from './mailer.ts';
import { requireSchema } from './schema.ts';
import { serverUnreachable } from './server-unreachable.ts';
import { operatorName, readConfig } from './settings/config.ts';
import { ConfigurationRefused } from './settings/configuration-refused.ts';
import {
  readStreamPrefix,
  refuseOtherSecret,
  refuseShiftedClock,
  sharedGraceSeconds,
  sharedPlans,
} from './settings/installation.ts';
import { findAddresses, findStaffOrigin } from './settings/instance.ts';
import { readProofSigning } from './settings/proof-signing.ts';
import { readSecrets } from './settings/secrets.ts';

/** Opens the connections that a command needs, runs it, and closes them again. */
export async function runCommand(
  { output, variables }: { output: Output; variables: NodeJS.ProcessEnv | undefined },
  command: Parameters<RunCommand>[0],
  { wholeTables = false }: Parameters<RunCommand>[1] = {},
): Promise<void> {
  const config = readConfig(variables);
  const { eventStoreUrl, databaseUrl } = findAddresses(config);
  const secrets = readSecrets(config);
  // A failure is told in one sentence; repeated attempts are not worth a line to the person who waits.
  const settings = { ...config, LOG_LEVEL: config.LOG_LEVEL ?? 'error' } as const;
  const logger = createLogger(settings, 'cli', 'warn', { write: output.tell });
  const pool = openPool(databaseUrl, {
    logger,
    // The most are for `projections rebuild all`, and one for the clock. Others get few: to begin one takes longer than most queries.
    max: wholeTables ? connectionsOfRebuild(projections.length) + 1 : 3,
    queryTimeoutMs: wholeTables ? wholeTableMs : commandTimeoutMs,
    connectionTimeoutMs: commandTimeoutMs,
  });
  const opening = requireOwnSessions(pool)
    .then(() => requireSchema(pool))
    .then(() => readStreamPrefix(pool, config));
  const postgresUnreachable = (error: unknown) =>
    serverUnreachable('Postgres', { url: databaseUrl, setting: config.DATABASE_URL && 'DATABASE_URL' }, error);
  const prefix = await opening.catch(async (error: unknown) => {
    await pool.end();
    throw error instanceof ConfigurationRefused ? error : postgresUnreachable(error);
  });
  const streams = { prefix, isOurs: isOurStream };
  const connected = connectEventStore({ url: eventStoreUrl, logger, streams, readTimeoutMs: commandTimeoutMs });
  const store = withPersonalData(tellingWaits(connected, output), createPersonalKeys(pool, secrets));
  const macs = createRowMacs(secrets, { logger });
  const clock = createClock({ realNowMs, uptimeMs, offsetSeconds: config.REELTALLY_CLOCK_OFFSET_SECONDS });
  // Where Postgres has no time at this moment, a command that needs none goes on.
  await measureClock(pool, clock).catch(() => undefined);
  const measuring = keepMeasuring(pool, clock);
  const { now } = clock;
  const writers = new WriterRegistry({ store, now, newId: newUuid, rows: macs });
  const graceSeconds = () => sharedGraceSeconds(pool, config);
  const closing = { store, pool, macs, now, newUuid, logger, writers };
  const setAside = new Map<string, number>();
  const staffOrigin = findStaffOrigin(config);
  const links = createStaffLinks(pool, { macs, randomBits });
  const createStaffLink = async (staffId: string) => {
    const secret = await links.create({ staffId, browser: undefined });
    return secret === undefined ? undefined : `${staffOrigin ?? ''}/staff/sign-in/${secret}`;
  };
  try {
    await refuseOtherSecret(pool, secrets);
    await refuseShiftedClock(pool, config);
    await command({
      store,
      pool,
      macs,
      now,
      newUuid,
      newId,
      randomBits,
      plans: () => sharedPlans(pool, config),
      writers,
      output,
      queries: createReadModelQueries(pool),
      approvalCents: config.STAFF_APPROVAL_CENTS,
      staffCache: newStaffCache(),
      issuer: config.INVOICE_ISSUER,
      proofOrigin: () => config.PROOF_ORIGIN ?? readProofSigning(config)?.origin,
      erasures: createErasures(pool),
      personalKeysAsSql: () => personalKeysAsSql(pool),
      documentRetentionYears: config.DOCUMENT_RETENTION_YEARS,
      graceSeconds,
      closePeriods: async () => closePeriods({ ...closing, graceSeconds: await graceSeconds() }, { setAside }),
      actor: { type: 'staff', id: operatorName(), role: 'operator', reason: 'command line' },
      hasProjector: () => isLed(pool, 'projector'),
      ...(staffOrigin !== undefined && { createStaffLink }),
      mailStaffInvitation: createStaffInvitations(config, now),
    });
  } catch (error) {
    throw isPostgresAway(error) ? postgresUnreachable(error) : error;
  } finally {
    await connected.close();
    await measuring.stop();
    await pool.end();
  }
}

/** The event store, which tells the person at the keyboard when a command waits for it. */
function tellingWaits(store: EventStore & WholeLog, output: Output): EventStore & WholeLog {
  const told = <Value>(work: Promise<Value>) => tellWait(output, 'the event store', work);
  return {
    append: (...asked) => told(store.append(...asked)),
    read: (...asked) => told(store.read(...asked)),
    readAll: (...asked) => told(store.readAll(...asked)),
    readTail: (...asked) => told(store.readTail(...asked)),
    headPosition: () => told(store.headPosition()),
    newestPositions: (...asked) => told(store.newestPositions(...asked)),
    newestPositionsWithin: (...asked) => told(store.newestPositionsWithin(...asked)),
    subscribe: (options) => store.subscribe(options),
  };
}
