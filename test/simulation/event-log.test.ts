import { onTestFinished } from 'vitest';
import { describeEventStorePort } from '../adapters/event-store/port-contract.ts';
import { EventLog } from './event-log.ts';
import { connectToLog } from './event-log-client.ts';
import { perfectNetwork } from './perfect-network.ts';
import { SimulatedProcess } from './process.ts';

const log = new EventLog();

function connect(to: EventLog) {
  const store = connectToLog(to, new SimulatedProcess('test'), perfectNetwork);
  onTestFinished(() => store.close());
  return store;
}

describeEventStorePort({
  open: () => connect(log),
  openUnreachable: () => {
    const unreachable = new EventLog();
    unreachable.awayUntilMs = Infinity;
    return Promise.resolve(connect(unreachable));
  },
});
