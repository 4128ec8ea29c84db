/** Launches an event store, prints its process id and stays until it is killed: `launch-and-hang.ts DIRECTORY`. */

import { launchEventStore } from '../../../src/embedded/event-store/launch.ts';

const store = await launchEventStore({ dataDirectory: process.argv[2] ?? '', nodePath: process.execPath });
console.log(store.pid);
