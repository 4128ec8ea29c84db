import { mkdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { parseVideoUrl } from '../../src/domain/parse-video-url.ts';
import { createEgressGuard } from '../../src/downloader/egress/connection-guard.ts';
import type { Egress } from '../../src/downloader/egress/credentials.ts';
import { startEgressProxy } from '../../src/downloader/egress/proxy.ts';
import { startReaper } from '../../src/downloader/sandbox/child-reaper.ts';
import { hasAll } from '../../src/downloader/sandbox/launch.ts';
import { openSandbox } from '../../src/downloader/sandbox/open-sandbox.ts';
import { createVideoSource, type VideoSourceOptions } from '../../src/downloader/video-source.ts';
import type { DownloaderLimits } from '../../src/downloader/yt-dlp/arguments.ts';
import { type DownloaderPrograms, locateDownloader } from '../../src/downloader/yt-dlp/programs.ts';
import { pagePath, sampleItems } from '../../src/embedded/sample-platform/items.ts';
import { startSamplePlatform } from '../../src/embedded/sample-platform/sample-platform.ts';
import type { VideoReference, VideoSource, WantedFile } from '../../src/ports/videos.ts';
import { engineDirectoryOfRun, filmsOfRun, prepareEngine } from './films-and-engine-of-run.ts';
import { listen, type Listening } from './listen.ts';
import { makeTemporaryDirectory, temporaryDirectory } from './temporary-directory.ts';
import { patienceMs } from './wait-for.ts';

/** Where the sample platform's extractor lies. */
export const pluginsDirectory = fileURLToPath(new URL('../../src/downloader/yt-dlp/plugins', import.meta.url));

const testLimits: DownloaderLimits = {
  maxFileSizeBytes: 50_000_000,
  maxDurationSeconds: 3600,
  attemptTimeoutMs: patienceMs,
  metadataTimeoutMs: patienceMs,
  maxVideoSide: 2160,
};

type MoreOfSource = { proxyUrl?: string } & Partial<
  Pick<VideoSourceOptions, 'ytDlpPath' | 'workDirectory' | 'logger' | 'cookiesOf'>
>;

export interface TestPlatform {
  url: string;
  engine: DownloaderPrograms;
  /** Holds the engine's work directory and whatever a test puts there; removed by `close`. */
  directory: string;
  /** Where the films are that have been asked for, each set in a folder of its own. They are not this test's alone. */
  filmsDirectory: string;
  reference(id: string): VideoReference;
  /** The real engine, reading this platform and a few real ones. `close` ends it. */
  usualSource: VideoSource;
  /** Another one, which tries anew at its first use whether yt-dlp starts: that takes as long as most downloads of tests. */
  source(limits?: Partial<DownloaderLimits>, more?: MoreOfSource): VideoSource;
  /** Whether this machine has all that it takes to fork yt-dlp. */
  canFork: boolean;
  close(): Promise<void>;
}

export function findDownloader(): Promise<DownloaderPrograms> {
  return locateDownloader({}, process.env['PATH'] ?? '');
}

function pathOf(id: string): string {
  const item = sampleItems[id];
  return item ? pagePath(id, item) : `/watch/${id}`;
}

function makeDirectories(...directories: string[]): string[] {
  for (const directory of directories) mkdirSync(directory, { recursive: true });
  return directories;
}

/** A proxy of the test's own in place of the guarded one. */
export function throughOtherProxy(proxyUrl: string): Egress {
  const usage = { receivedBytes: 0, sentBytes: 0, connections: 0, refusals: 0, routeFailures: 0, exhausted: false };
  return { admit: () => ({ proxyUrl, close: () => usage }) };
}

/**
 * A sample platform of one's own, with the real engine to read it. Whoever starts it closes it.
 *
 * @param others of the test's own, which speak like it and may be reached besides
 * @param isUnpacked whether the engine finds itself unpacked already, as after an earlier start
 */
export async function startTestPlatform(
  others: readonly string[] = [],
  { isUnpacked = true }: { isUnpacked?: boolean } = {},
): Promise<TestPlatform> {
  const engine = await findDownloader();
  const directory = makeTemporaryDirectory();
  const filmsDirectory = filmsOfRun() ?? join(directory, 'media');
  const platform = await startSamplePlatform({ cacheDirectory: filmsDirectory, ffmpegPath: engine.ffmpegPath });
  const ownEngine = join(directory, 'work', 'engine');
  const engineDirectory = isUnpacked ? (engineDirectoryOfRun() ?? ownEngine) : ownEngine;
  if (isUnpacked) await prepareEngine();
  const reaper = startReaper();
  const origins = [platform.url, ...others];
  const allowed = origins
    .map((origin) => new URL(origin))
    .map(({ hostname: host, port }) => ({ host, port: Number(port) }));
  const guard = createEgressGuard({ allowed, onRefused: () => undefined });
  const sandbox = await openSandbox({
    directory: join(directory, 'cell'),
    programs: [engine.ytDlpPath, engine.ffmpegPath, engine.ffprobePath],
    readable: [pluginsDirectory, ...makeDirectories(engineDirectory)],
  });
  const proxy = await startEgressProxy({ guard, ...(sandbox.listener && { listener: sandbox.listener }) });
  /** Without what keeps another proxy, or another engine, out of a child's reach. */
  const namespacesFor = ({
    proxyUrl,
    ytDlpPath,
  }: {
    proxyUrl?: string | undefined;
    ytDlpPath?: string | undefined;
  }) => {
    const { nsenter, view, users, ...others } = sandbox.namespaces;
    return {
      ...others,
      // Of another user without its whole place it would be too little that it can reach.
      ...(proxyUrl === undefined && ytDlpPath === undefined && users && { users }),
      ...(proxyUrl === undefined && nsenter && { nsenter }),
      ...(ytDlpPath === undefined && view && { view }),
    };
  };
  const extractorOf = ({ platform: name, canonicalUrl }: VideoReference): string | undefined => {
    const readings = origins.map((samplePlatformOrigin) => parseVideoUrl(canonicalUrl, { samplePlatformOrigin }));
    const videos = readings.flatMap((parsed) => (parsed.ok ? (parsed.video ?? []) : []));
    return videos.find((video) => video.platform === name)?.extractor;
  };
  const source: TestPlatform['source'] = (limits = {}, { proxyUrl, ...more } = {}) =>
    createVideoSource({
      workDirectory: join(directory, 'work'),
      ...engine,
      ...more,
      egress: proxyUrl === undefined ? proxy : throughOtherProxy(proxyUrl),
      namespaces: namespacesFor({ proxyUrl, ...more }),
      reaper,
      pluginsDirectory,
      extractorOf,
      limits: { ...testLimits, ...limits },
      unpackedDirectory: engineDirectory,
    });
  return {
    url: platform.url,
    engine,
    directory,
    filmsDirectory,
    reference: (id) => ({ platform: 'sample', videoId: id, canonicalUrl: platform.url + pathOf(id) }),
    usualSource: source(),
    source,
    canFork: hasAll(sandbox.namespaces),
    async close() {
      reaper.close();
      await proxy.close();
      await sandbox.close();
      await platform.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Downloads into a directory, and neither watches it nor stops it. */
export const downloadFrom = (
  source: VideoSource,
  video: VideoReference,
  wanted: Partial<WantedFile> = {},
  directory = temporaryDirectory(),
): ReturnType<VideoSource['download']> =>
  source.download(
    video,
    { output: 'mp4', quality: 'best', item: 1, ...wanted },
    { directory, signal: new AbortController().signal, onProgress: () => undefined },
  );

/** The same for the tests of one file: started before them, closed after them. */
export function platformOfFile(...given: Parameters<typeof startTestPlatform>): TestPlatform {
  const platform = {} as TestPlatform;
  beforeAll(async () => {
    Object.assign(platform, await startTestPlatform(...given));
  });
  afterAll(() => platform.close());
  return platform;
}

/** A platform of the test's own, which speaks like the sample one, and an engine that reads it. */
export interface OwnPlatform {
  platform: TestPlatform;
  videoOf(id: string): VideoReference;
}

/** The same beside a platform that answers as the test says; for the tests of one file. */
export function ownPlatformOfFile(answer: RequestListener): OwnPlatform {
  let url = '';
  const own = {
    videoOf: (id: string) => ({ platform: 'sample', videoId: id, canonicalUrl: `${url}/watch/${id}` }),
  } as OwnPlatform;
  let listening: Listening;
  beforeAll(async () => {
    listening = await listen(createServer(answer));
    url = `http://127.0.0.1:${listening.port}`;
    own.platform = await startTestPlatform([url]);
  });
  afterAll(async () => {
    await own.platform.close();
    await listening.close();
  });
  return own;
}
