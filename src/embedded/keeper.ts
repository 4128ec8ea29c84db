/**
 * Runs one server on behalf of another process and ends it when that process is gone, however it went.
 *
 * The owner holds the other end of the IPC channel: its death, by SIGKILL too, closes the channel. The keeper stands in a
 * process group of its own, so that Ctrl-C in a terminal reaches the owner only, which then stops its servers in its own order.
 * Started by kept-process.ts as: keeper.ts OWNER_PID TASK_AS_JSON
 */

import { spawn } from 'node:child_process';

import type { KeeperReport, KeeperTask } from './kept-process.ts';

const task = JSON.parse(process.argv[3] ?? '') as KeeperTask;
const server = spawn(task.command, task.args, {
  cwd: task.workingDirectory,
  env: task.environment,
  stdio: ['ignore', 'inherit', 'inherit'],
  ...task.user,
});

let stopping = false;
function stop(): void {
  if (stopping) return;
  stopping = true;
  server.kill(task.stopSignal);
  setTimeout(() => server.kill('SIGKILL'), task.stopLimitMs).unref();
}

function report(message: KeeperReport, afterwards?: () => void): void {
  // When the owner is gone there is nobody to tell; the callback is there so that this is not an uncaught error.
  if (process.connected) process.send?.(message, undefined, undefined, () => afterwards?.());
}

function leave(): void {
  if (process.connected) process.disconnect();
}

process.on('disconnect', stop);
process.on('message', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);

server.on('spawn', () => {
  report({ kind: 'started', pid: server.pid ?? 0 });
});
server.on('error', (error) => {
  if (server.pid === undefined) report({ kind: 'not_started', reason: error.message }, leave);
});
server.on('exit', (code, signal) => {
  report({ kind: 'ended', code, signal }, leave);
});
