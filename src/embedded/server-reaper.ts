/**
 * Runs one server for an owner process, and ends the server when the owner is gone, even after a SIGKILL.
 *
 * The owner holds the other end of the IPC channel, which closes when the owner dies. This reaper has a process group of its
 * own, so that Ctrl-C in a terminal reaches only the owner, which then stops its servers in its own order.
 *
 * The children of downloads have one reaper for all of them (`downloader/sandbox/child-reaper.ts`), which kills without asking. A
 * server needs a parent of its own: the parent asks it to stop and waits; no moment lies between its start and the watch over
 * it; and the parent's command line tells the next start whether the owner is still alive (`leftover-server.ts`).
 *
 * Started by server-process.ts as: server-reaper.ts OWNER_PID TASK_AS_JSON
 */

import { spawn } from 'node:child_process';
import type { ReaperReport, ServerTask } from './server-process.ts';

const task = JSON.parse(process.argv[3] ?? '') as ServerTask;
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

function report(message: ReaperReport, afterwards?: () => void): void {
  // Without the callback, a report to an owner that is gone would be an uncaught error.
  if (process.connected) process.send?.(message, undefined, undefined, () => afterwards?.());
}

function leave(): void {
  if (process.connected) process.disconnect();
}

process.on('disconnect', stop);
process.on('message', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);

server.on('spawn', () => report({ kind: 'started', pid: server.pid ?? 0 }));
server.on('error', (error) => {
  if (server.pid === undefined) report({ kind: 'not_started', reason: error.message }, leave);
});
server.on('exit', (code, signal) => report({ kind: 'ended', code, signal }, leave));
