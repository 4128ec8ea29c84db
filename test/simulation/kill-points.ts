import { spawn } from 'node:child_process';
import http2 from 'node:http2';
import { Socket } from 'node:net';
import { type Edit, editSources } from './module-hooks.ts';

/**
 * Loaded before the service into one of its processes (`node --import`): ends or stops the process at a drawn point, which is a
 * call of a port or the reply to it, as `killed_at_call`, `killed_at_reply` and `paused_at_reply` of faults.ts. All calls leave
 * through connections to three servers. A kill at a call comes before its bytes are sent, one at a reply before anybody reads it.
 */
export interface KillPoint {
  port: 'event_store' | 'postgres' | 'nats';
  at: 'call' | 'reply';
  /** The first such call or reply is 1. */
  count: number;
  /** Whether it counts from the beginning of the process, or from the moment at which it is ready. */
  from: 'start' | 'ready';
  /** It is not killed, but stands still for so long, and then goes on as a zombie. */
  pauseSeconds?: number;
}

const { KILL_POINT, PLANTED_EDITS, EVENTSTORE_URL = '', DATABASE_URL = '', NATS_URL = '' } = process.env;
const point = JSON.parse(KILL_POINT ?? 'null') as KillPoint | null;
const addresses = { event_store: EVENTSTORE_URL, postgres: DATABASE_URL, nats: NATS_URL };
const wantedPort = point && Number(new URL(addresses[point.port]).port);
let isCounting = point?.from === 'start';
let count = 0;

function reach(at: KillPoint['at'], remotePort: number | undefined): void {
  if (!isCounting || at !== point?.at || remotePort !== wantedPort) return;
  count += 1;
  if (count !== point.count) return;
  if (point.pauseSeconds === undefined) process.kill(process.pid, 'SIGKILL');
  const wake = `sleep ${String(point.pauseSeconds)}; kill -CONT ${String(process.pid)}`;
  spawn('/bin/sh', ['-c', wake], { detached: true, stdio: 'ignore' }).unref();
  process.kill(process.pid, 'SIGSTOP');
}

type Written = (...written: never[]) => boolean;

/** Calls `told` before a method. */
function before(of: object, method: string, told: (of: object) => void): void {
  const original = Reflect.get(of, method) as Written;
  Reflect.set(of, method, function (this: object, ...given: never[]) {
    told(this);
    return Reflect.apply(original, this, given);
  });
}

/** What is written to a stream is a call, and what arrives is a reply. */
function watch(stream: object, remotePort: (stream: object) => number | undefined): void {
  before(stream, 'write', (of) => reach('call', remotePort(of)));
  before(stream, 'push', (of) => reach('reply', remotePort(of)));
}

if (point) {
  watch(Socket.prototype, (socket) => (socket as Socket).remotePort);
  // HTTP/2 reads and writes its sockets without JavaScript, so its streams are watched instead.
  const { connect } = http2;
  http2.connect = ((...to: Parameters<typeof connect>) => {
    const session = connect(...to);
    const request = session.request.bind(session);
    session.request = (...asked) => {
      const stream = request(...asked);
      watch(stream, () => session.socket.remotePort);
      return stream;
    };
    return session;
  }) as typeof connect;
  // The first that it prints says that it is ready.
  before(process.stdout, 'write', () => (isCounting = true));
}
// A bug, to see that it is found.
if (PLANTED_EDITS !== undefined) editSources(JSON.parse(PLANTED_EDITS) as Edit[]);
