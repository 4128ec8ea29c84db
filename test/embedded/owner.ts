/** A process that owns embedded servers, for tests that kill it. Started as: owner.ts postgres|nats-server|data-directory DIRECTORY */

import { lockDataDirectory } from '../../src/embedded/data-directory.ts';
import { launchNatsServer } from '../../src/embedded/nats-server.ts';
import { launchPostgres } from '../../src/embedded/postgres/launch.ts';

const [part, dataDirectory] = process.argv.slice(2);
if (dataDirectory === undefined) throw new Error('The data directory is missing.');
if (part === 'data-directory') {
  lockDataDirectory(dataDirectory);
  console.log(JSON.stringify({}));
} else {
  const server = await (part === 'postgres' ? launchPostgres : launchNatsServer)({ dataDirectory });
  console.log(JSON.stringify({ pid: server.pid, url: server.url }));
}
setInterval(() => undefined, 60_000);
