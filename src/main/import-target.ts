import { join } from 'node:path';
import { connectEventStore } from '../adapters/event-store/event-store.ts';
import type { WithImportTarget } from '../cli/log-transfer.ts';
import { CommandFailed, type Output } from '../cli/output.ts';
import { isOurStream } from '../domain/is-our-stream.ts';
import { lockDataDirectory } from '../embedded/data-directory.ts';
import { launchEventStore } from '../embedded/event-store/launch.ts';
import type { ConnectImport } from '../transfer/import-log.ts';
import { createLogger } from './logger.ts';
import type { Config } from './settings/config.ts';
import { servedAt } from './settings/instance.ts';

const answerTimeoutMs = 30_000;
/** A day: a server that refused one append for its age could store the next, and the order would be lost. */
const appendDeadlineMs = 86_400_000;

/**
 * The event store for an import: the one at EVENTSTORE_URL, or the embedded one of a data folder that no service uses. Neither
 * Postgres nor NATS is needed; the read models are built from the imported log afterwards.
 */
export const importTarget =
  (config: Config, output: Output): WithImportTarget =>
  async (use) => {
    if (config.EVENTSTORE_URL !== undefined) return use(connectTo(config.EVENTSTORE_URL, config, output));
    const lock = lockDataDirectory(config.dataDirectory, servedAt);
    try {
      const server = await launchEventStore({
        dataDirectory: join(config.dataDirectory, 'event-store'),
        nodePath: process.execPath,
      }).catch((error: unknown) => {
        throw new CommandFailed(error instanceof Error ? error.message : String(error));
      });
      try {
        await use(connectTo(server.url, config, output));
      } finally {
        await server.stop();
      }
    } finally {
      lock.release();
    }
  };

/** Only one store of a process may be open: each connection is closed before the next. */
function connectTo(url: string, config: Config, output: Output): ConnectImport {
  const logger = createLogger({ ...config, LOG_LEVEL: config.LOG_LEVEL ?? 'error' }, 'cli', 'warn', {
    write: output.tell,
  });
  const streams = { prefix: config.EVENTSTORE_PREFIX ?? '', isOurs: isOurStream };
  return (onUnknownOutcome) =>
    connectEventStore({ url, logger, streams, readTimeoutMs: answerTimeoutMs, appendDeadlineMs, onUnknownOutcome });
}
