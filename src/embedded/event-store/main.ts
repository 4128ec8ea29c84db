/**
 * A single-node event store that speaks EventStoreDB's gRPC protocol: for development, tests, demos and small installations.
 *
 *     node src/embedded/event-store/main.ts --data DIRECTORY [--port PORT] [--until-stdin-ends]
 *
 * Prints one line of JSON when it is ready. Ends with 0 when told to, with 1 when it cannot start or the disk fails.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import { type EndOfCatchUp, endsOfCatchUp } from './checkpoints.ts';
import { openDatabase, StartRefused } from './database.ts';
import { startServer } from './server.ts';

interface Options {
  data: string;
  port: number;
  endOfCatchUp: EndOfCatchUp;
  untilStdinEnds?: boolean;
}

const program = new Command()
  .name('event-store')
  .description("A single-node event store that speaks EventStoreDB's gRPC protocol, for one machine.")
  .requiredOption('--data <directory>', 'folder of the log; created if it does not exist')
  .option('--port <number>', 'port to listen on; 0 for any that is free', portNumber, 0)
  .addOption(
    new Option('--end-of-catch-up <form>', 'the checkpoint that ends a catch-up: of 24.2, or as servers from 25.0 may')
      .choices(endsOfCatchUp)
      .default('last-event'),
  )
  .option('--until-stdin-ends', 'end when standard input is closed, and leave SIGINT to the parent')
  .parse();

try {
  await run(program.opts<Options>());
} catch (error) {
  if (!(error instanceof StartRefused)) throw error;
  console.error(`event-store: ${error.message}`);
  process.exit(1);
}

async function run(options: Options): Promise<void> {
  const { data, port, endOfCatchUp } = options;
  const database = openDatabase(data);
  const server = await startServer({ database, port, endOfCatchUp, onFailure: endAtOnce });
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    void server.stop().then(() => {
      database.close();
      process.exit(0);
    });
  };
  process.on('SIGTERM', stop);
  if (options.untilStdinEnds === true) {
    process.on('SIGINT', () => undefined);
    process.stdin.on('end', stop).on('error', stop).resume();
  } else process.on('SIGINT', stop);
  console.log(JSON.stringify({ listening: `esdb://127.0.0.1:${server.port}?tls=false` }));
}

function endAtOnce(error: unknown): void {
  console.error('event-store: the log could not be written; ending, so that nothing uncertain is answered.', error);
  process.exit(1);
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('Not a port number.');
  return port;
}
