import { describe, expect, test } from 'vitest';
import { downloadArguments, metadataArguments } from '../../../src/downloader/yt-dlp/arguments.ts';

const run = { extractor: 'Sample', pluginsDirectory: '/plugins', ffmpegPath: '/ffmpeg', url: '--exec=x' };
const limits = {
  maxFileSizeBytes: 1,
  maxDurationSeconds: 1,
  attemptTimeoutMs: 1,
  metadataTimeoutMs: 1,
  maxVideoSide: 1080,
};

describe.each([
  ['a probe', metadataArguments(run)],
  ['a download', downloadArguments(run, { output: 'mp4', quality: 'best', item: 1 }, { directory: '/d', limits })],
])('%s', (_, words) => {
  test('ends with the address, which is never taken for an option', () => {
    expect(words.slice(-2)).toEqual(['--', '--exec=x']);
    expect(words.filter((word) => word === '--')).toHaveLength(1);
  });

  test.each(['--ignore-config', '--no-exec', '--no-plugin-dirs', '--no-cache-dir', '--no-update', '--no-playlist'])(
    'is told %s',
    (option) => {
      expect(words).toContain(option);
    },
  );
});
