import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { serverPids } from '../../src/embedded/leftover-server.ts';
import type { RunningServer } from '../../src/embedded/server-process.ts';
import { readProcess } from '../../src/system/processes.ts';
import { listen } from '../support/listen.ts';
import { waitFor } from '../support/wait-for.ts';

const ownerFile = fileURLToPath(new URL('./owner.ts', import.meta.url));

export interface Owner {
  pid: number;
  /** The server's process number and address, once it is ready. */
  ready: Promise<{ pid: number; url: string }>;
  kill(): Promise<void>;
}

/** Starts a process that owns a server; it is killed with SIGKILL by the test, and at the latest when the test has finished. */
export function startOwner(part: string, directory: string, environment: Record<string, string> = {}): Owner {
  const child = spawn(process.execPath, [ownerFile, part, directory], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(async () => {
    await kill();
    // The server ends a moment after its owner; until then it may still write to the folder that is about to be removed.
    await waitFor(() => serversOn(directory).length === 0 || undefined, { what: `nothing runs on ${directory}` });
  });
  const ready = waitFor(() => output.endsWith('\n') || child.exitCode !== null, {
    what: `the owner of ${part} is ready`,
  }).then(() => JSON.parse(output) as { pid: number; url: string });
  // A test that kills the owner early does not ask.
  ready.catch(() => undefined);
  return { pid: child.pid ?? 0, ready, kill };
}

function serversOn(directory: string): number[] {
  const programs = ['initdb', 'postgres', 'nats-server'];
  return ['', 'database', 'initialising/database']
    .map((inside) => join(directory, inside))
    .filter((workingDirectory) => existsSync(workingDirectory))
    .flatMap((workingDirectory) => serverPids({ programs, workingDirectory }));
}

/** Kills an owner and the reaper that would have ended its server: the server goes on alone. */
export async function killWithReaper(owner: Owner, serverPid: number): Promise<void> {
  const reaper = parentPid(serverPid);
  process.kill(reaper, 'SIGSTOP');
  await owner.kill();
  process.kill(reaper, 'SIGKILL');
  await waitUntilGone(reaper);
}

export function isAlive(pid: number): boolean {
  const state = readProcess(pid)?.state;
  return state !== undefined && state !== 'Z';
}

export function waitUntilGone(pid: number): Promise<true> {
  return waitFor(() => !isAlive(pid) || undefined, { what: `process ${pid} is gone` });
}

export const parentPid = (pid: number): number => readProcess(pid)!.parent;

/** Stops a server when the test has finished. */
export async function untilTestEnds(launching: Promise<RunningServer>): Promise<RunningServer> {
  const server = await launching;
  onTestFinished(() => server.stop().then(() => undefined));
  return server;
}

/** Expects that a server which is to listen on a port that is taken names it. */
export async function expectPortTaken(launch: (port: number) => Promise<RunningServer>): Promise<void> {
  await using other = await listen(createServer());
  const { port } = other;
  await expect(launch(port)).rejects.toThrow(`Port ${port} of 127.0.0.1 is taken`);
}
