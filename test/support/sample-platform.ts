import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { VideoReference } from '../../src/commands/ports.ts';
import { createVideoSource } from '../../src/adapters/video-source.ts';
import type { EngineVideoSource } from '../../src/adapters/video-source.ts';
import type { EngineLimits } from '../../src/adapters/yt-dlp-arguments.ts';
import { locateEngine } from '../../src/adapters/yt-dlp-engine.ts';
import type { Engine } from '../../src/adapters/yt-dlp-engine.ts';
import { pagePath, sampleItems } from '../../src/embedded/sample-platform/items.ts';
import { startSamplePlatform } from '../../src/embedded/sample-platform.ts';
import { makeTemporaryDirectory } from './temporary-directory.ts';

/** Where the sample platform's extractor lies. */
export const pluginsDirectory = fileURLToPath(new URL('../../src/embedded/plugins', import.meta.url));

const testLimits: EngineLimits = {
  maxFileSizeBytes: 50_000_000,
  maxDurationSeconds: 3600,
  attemptTimeoutMs: 60_000,
  probeTimeoutMs: 30_000,
  maxVideoSide: 2160,
};

const extractors = {
  sample: 'sample',
  youtube: 'youtube',
  streamable: 'Streamable',
  rutube: 'rutube',
  bluesky: 'Bluesky',
  tiktok: 'tiktok:photo',
};

export interface TestPlatform {
  url: string;
  engine: Engine;
  /** Holds the films, the engine's work directory and whatever a test puts there; removed by `close`. */
  directory: string;
  reference(id: string): VideoReference;
  /** The real engine, reading this platform and a few real ones. `close` ends it. */
  source(limits?: Partial<EngineLimits>, more?: { proxyUrl?: string; ytDlpPath?: string }): EngineVideoSource;
  close(): Promise<void>;
}

export function findEngine(): Promise<Engine> {
  return locateEngine({}, process.env['PATH'] ?? '');
}

function pathOf(id: string): string {
  const item = sampleItems[id];
  return item ? pagePath(id, item) : `/watch/${id}`;
}

/** A sample platform of one's own, with the real engine to read it. Whoever starts it closes it. */
export async function startTestPlatform(): Promise<TestPlatform> {
  const engine = await findEngine();
  const directory = makeTemporaryDirectory();
  const platform = await startSamplePlatform({
    cacheDirectory: join(directory, 'media'),
    ffmpegPath: engine.ffmpegPath,
  });
  const sources: EngineVideoSource[] = [];
  return {
    url: platform.url,
    engine,
    directory,
    reference: (id) => ({ platform: 'sample', videoId: id, canonicalUrl: platform.url + pathOf(id) }),
    source(limits = {}, more = {}) {
      const source = createVideoSource({
        ...engine,
        ...more,
        pluginsDirectory,
        extractors,
        limits: { ...testLimits, ...limits },
        workDirectory: join(directory, 'work'),
      });
      sources.push(source);
      return source;
    },
    async close() {
      for (const source of sources) source.close();
      await platform.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
