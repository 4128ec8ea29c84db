/**
 * Proves each guard with real children before a worker takes jobs. Neither the machine's permissions nor our own set-up are
 * taken for granted.
 */

import { chmod, mkdir, open, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeTemporaryFolder } from '../system/disk.ts';
import { listPids, readProcessFile } from '../system/processes.ts';
import type { Egress } from './egress/credentials.ts';
import type { Reaper } from './sandbox/child-reaper.ts';
import type { Sandbox } from './sandbox/open-sandbox.ts';
import { measureDirectory } from './sandbox/resource-use.ts';
import { runSandboxed, type SandboxedProcess } from './sandbox/run-sandboxed.ts';
import { proxyVariables } from './yt-dlp/run-yt-dlp.ts';

/** In the order in which they are shown. */
const guardNames = [
  'proxy',
  'network',
  'files',
  'processes',
  'privileges',
  'calls',
  'environment',
  'disk',
  'memory',
  'ending',
] as const;
type GuardName = (typeof guardNames)[number];

/** `missing`: this machine does not allow the guard. `failed`: it should hold and does not, so no job may be taken. */
export interface GuardReport {
  guard: GuardName;
  state: 'on' | 'missing' | 'failed';
  detail: string;
}

export interface SelfTestOptions {
  sandbox: Pick<Sandbox, 'namespaces' | 'missing'>;
  egress: Egress;
  /** For directories of the test's own; made if it is not there. */
  directory: string;
  reaper: Reaper;
}

const timeLimitMs = 30_000;
/** For children that will not end: what is tried is the end, not the patience. */
const graceMs = 100;
const diskBytes = 1024 * 1024;
/** For the folders themselves. */
const diskMarginBytes = 64 * 1024;
const memoryLimitBytes = 256 * 1024 * 1024;

/** Tries every way out of the sandbox, and prints the results. */
const prisoner = `
  const net = require('node:net'), fs = require('node:fs');
  const [, canaryPort, name, outside] = process.argv;
  const proxy = new URL(process.env.http_proxy);
  const talk = (host, port, text) => new Promise((resolve) => {
    const socket = net.connect({ host, port });
    let heard = '';
    socket.setTimeout(15000, () => socket.destroy());
    socket.on('connect', () => { heard += 'connected '; if (text) socket.write(text); else socket.destroy(); });
    socket.on('data', (data) => (heard += data));
    socket.on('error', () => undefined).on('close', () => resolve(heard));
  });
  const attempt = (work) => { try { work(); return true; } catch { return false; } };
  const ask = (credentials) => talk(proxy.hostname, proxy.port,
    'GET http://127.0.0.1:' + canaryPort + '/' + name + ' HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n' + credentials + '\\r\\n');
  const credentials = Buffer.from(proxy.username + ':' + proxy.password).toString('base64');
  const status = (heard) => Number((heard.match(/HTTP\\/1\\.1 (\\d+)/) || [])[1] || 0);
  // Opened, and not written to.
  const openToWrite = (path) => fs.closeSync(fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK));
  // A file that everybody may open, as those of /proc/pressure, takes nothing without privileges.
  const isForAll = (path) => (fs.statSync(path).mode & 0o002) !== 0;
  const filesOf = (folder) => {
    let entries = [];
    try { entries = fs.readdirSync(folder, { withFileTypes: true }); } catch {}
    return entries.flatMap((entry) => {
      const path = folder + '/' + entry.name;
      if (folder === '/proc' && /^\\d+$/.test(entry.name)) return [];
      return entry.isDirectory() ? filesOf(path) : entry.isFile() ? [path] : [];
    });
  };
  // Those by which a process could become root outside, or stop the machine; /sys as a whole is too large for a start.
  const kernelFiles = ['/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',
    '/sys/kernel/uevent_helper', '/sys/power/state', '/sys/fs/cgroup/cgroup.procs'];
  const own = fs.existsSync('/proc/self/status') ? fs.readFileSync('/proc/self/status', 'latin1') : '';
  (async () => console.log(JSON.stringify({
    direct: await talk('127.0.0.1', canaryPort),
    unauthenticated: status(await ask('')),
    guarded: status(await ask('Proxy-Authorization: Basic ' + credentials + '\\r\\n')),
    environment: Object.keys(process.env),
    reads: attempt(() => fs.readFileSync(outside)),
    writes: attempt(() => fs.writeFileSync(outside + '.written', '')),
    ids: (own.match(/^(?:Uid|Gid|Groups):.*$/gm) || []).flatMap((line) => line.split(/\\s+/).slice(1).filter(Boolean)),
    filters: Number((own.match(/^Seccomp_filters:\\s*(\\d+)/m) || [])[1]),
    kernelFiles: [...filesOf('/proc'), ...kernelFiles].filter((path) => attempt(() => openToWrite(path)) && !isForAll(path)),
    privileges: (own.match(/^(?:CapEff|NoNewPrivs):.*$/gm) || []).map((line) => line.split(/\\s+/)[1]),
  })))();
`;

interface Findings {
  direct: string;
  unauthenticated: number;
  guarded: number;
  environment: string[];
  reads: boolean;
  writes: boolean;
  /** All its user and group ids. */
  ids: string[];
  /** Its effective capabilities, and `1` if it can gain no new ones. */
  privileges: string[];
  /** How many filters of system calls hold it; null where the kernel does not tell (before 5.9). */
  filters: number | null;
  /** Files of the kernel that it could write to. */
  kernelFiles: string[];
}

/**
 * Ignores SIGTERM, and leaves a daemon behind in a session of its own, which is found by its last argument. Where nothing ends the
 * daemon, it ends by itself.
 */
const deaf = (name: string): string => `
  trap '' TERM
  session=$(command -v setsid)
  ($session /bin/sh -c 'trap "" TERM; sleep 60; :' ${name} &)
  while :; do sleep 1; done
`;

/** Anybody on this machine may connect to it, so only requests by the test's own name are visits of a child. */
async function startCanary(name: string): Promise<{ server: Server; port: number; visits: () => number }> {
  let visits = 0;
  const server = createServer((request, response) => {
    if (request.url === `/${name}`) visits += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port, visits: () => visits };
}

function namedSo(name: string): boolean {
  return listPids().some((pid) => readProcessFile(pid, 'cmdline')?.split('\0').includes(name));
}

/** True if all ids are the same, and not root's. */
const isSomebody = (ids: readonly string[]): boolean => new Set(ids).size === 1 && ids[0] !== '0';

/** The reason why each guard fails; the empty string if it holds. */
function objections({ findings, ...outcome }: Awaited<ReturnType<typeof observe>>): Record<GuardName, string> {
  const { filled, filledBytes, ended } = outcome;
  const unexpected = findings?.environment.filter(
    (name) =>
      !['http_proxy', 'https_proxy', 'all_proxy', 'PATH', 'HOME', 'TMPDIR', 'LANG', 'REELTALLY_RUN'].includes(name),
  );
  const when = (wrong: boolean | undefined, text: string) =>
    wrong === false ? '' : findings === undefined ? outcome.said : text;
  return {
    proxy: when(
      findings && (findings.unauthenticated !== 407 || findings.guarded !== 403),
      `it answered ${findings?.unauthenticated} to an unauthenticated client, and ${findings?.guarded} to a child that asked for this machine`,
    ),
    network: when(
      findings && (findings.direct !== '' || outcome.visits > 0),
      'a child reached a listener of this machine past the proxy',
    ),
    files: when(
      findings && (findings.reads || findings.writes || (outcome.isSomebodyElse && !isSomebody(findings.ids))),
      `a child got at a file outside its directory, or is not one user in one group: ${findings?.ids.join(', ')}`,
    ),
    processes: outcome.survivor ? 'a process was left behind' : '',
    privileges: when(
      findings && (findings.privileges.join() !== '0000000000000000,1' || findings.kernelFiles.length > 0),
      `a child has privileges: ${findings?.privileges.join(', ')}; it could write to ${findings?.kernelFiles.slice(0, 3).join(', ')}`,
    ),
    calls: when(
      findings && findings.filters !== null && findings.filters <= ownFilters(),
      'no filter of system calls holds a child',
    ),
    environment: when(unexpected && unexpected.length > 0, `a child sees ${unexpected?.join(', ')}`),
    disk:
      filled.ending === 'directory_full' && filledBytes <= diskBytes + diskMarginBytes
        ? ''
        : `a child that filled its directory ended as ${filled.ending}, with ${filledBytes} bytes; ${filled.stderr}`,
    memory: outcome.fed.exitCode === 0 ? 'a child was given more memory than it may have' : '',
    ending:
      ended.ending === 'timed_out' && !outcome.survivor
        ? ''
        : `a child that would not end ended as ${ended.ending}${outcome.survivor ? ', and left a process behind' : ''}`,
  };
}

/** The worker may be in a container that has one. */
const ownFilters = (): number =>
  Number(/^Seccomp_filters:\s*(\d+)/m.exec(readProcessFile(process.pid, 'status') ?? '')?.[1] ?? 0);

/** Runs the children side by side, and collects their findings and their traces. */
async function observe(options: SelfTestOptions, directory: string) {
  const name = `reeltally-self-test-${process.pid}-${directory.slice(-6)}`;
  const canary = await startCanary(name);
  const credential = options.egress.admit({ maxBytes: 1024 * 1024 });
  const lines: string[] = [];
  const outside = join(directory, 'outside');
  const { users } = options.sandbox.namespaces;
  // Another user may not be able to reach the program by its path, and inherits it as an open file.
  const isSomebodyElse = users !== undefined && users.shared === undefined;
  const program = isSomebodyElse ? await open(process.execPath) : undefined;
  await writeFile(outside, 'secret', { mode: 0o600 });
  const run = async (
    folder: string,
    own: Pick<SandboxedProcess, 'command' | 'arguments'> & Partial<SandboxedProcess>,
  ) => {
    await mkdir(join(directory, folder));
    return await runSandboxed({
      directory: join(directory, folder),
      searchPath: ['/usr/bin', '/bin'],
      timeoutMs: timeLimitMs,
      graceMs,
      signal: new AbortController().signal,
      maxOutputBytes: 64 * 1024,
      onLine: (line) => lines.push(line),
      reaper: options.reaper,
      namespaces: options.sandbox.namespaces,
      ...own,
    });
  };
  try {
    const [tried, fed, filled, ended] = await Promise.all([
      run('prisoner', {
        command: program === undefined ? process.execPath : '/proc/self/fd/3',
        handles: program === undefined ? [] : [program.fd],
        arguments: ['-e', prisoner, String(canary.port), name, outside],
        environment: proxyVariables(credential.proxyUrl),
      }),
      run('glutton', {
        command: '/bin/sh',
        arguments: ['-c', 'exec dd if=/dev/zero of=/dev/null bs=512M count=1'],
        maxMemoryBytes: memoryLimitBytes,
      }),
      run('hoarder', {
        command: '/bin/sh',
        arguments: ['-c', 'dd if=/dev/zero of=file bs=64k count=64 2>/dev/null; while :; do sleep 1; done'],
        maxDirectoryBytes: diskBytes,
      }),
      run('deaf', { command: '/bin/sh', arguments: ['-c', deaf(name)], timeoutMs: 200 }),
    ]);
    return {
      findings: lines[0] === undefined ? undefined : (JSON.parse(lines[0]) as Findings),
      visits: canary.visits(),
      said: `the child told nothing: ${tried.ending} ${tried.exitCode ?? ''} ${tried.stderr}`.trim(),
      fed,
      filled,
      filledBytes: (await measureDirectory(join(directory, 'hoarder'), 1_000)).bytesOnDisk,
      ended,
      survivor: namedSo(name),
      /** The children have a user of their own. */
      isSomebodyElse,
    };
  } finally {
    await program?.close();
    credential.close();
    canary.server.close();
    canary.server.closeAllConnections();
  }
}

/** Tries every guard, which takes about a second. */
export async function testSandbox(options: SelfTestOptions): Promise<GuardReport[]> {
  await mkdir(options.directory, { recursive: true, mode: 0o700 });
  await using directory = await makeTemporaryFolder(join(options.directory, 'self-test-'));
  // Another user's children pass through it to their own directories, but cannot list it.
  await chmod(directory.path, 0o711);
  const found = objections(await observe(options, directory.path));
  return guardNames.map((guard) => {
    const missing = options.sandbox.missing.find((one) => one.guard === guard);
    if (missing !== undefined) return { guard, state: 'missing', detail: missing.why };
    return { guard, state: found[guard] === '' ? 'on' : 'failed', detail: found[guard] };
  });
}
