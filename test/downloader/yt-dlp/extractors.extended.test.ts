import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ParsedVideo, parseVideoUrl } from '../../../src/domain/parse-video-url.ts';
import { platforms } from '../../../src/domain/platforms/platforms.ts';
import { addressesOf, shapesOfTable } from '../../support/generated-addresses.ts';
import { scaled } from '../../support/proof-scale.ts';
import { findDownloader } from '../../support/sample-platform.ts';
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts';

const plugins = [
  fileURLToPath(new URL('test-plugins', import.meta.url)),
  fileURLToPath(new URL('../../../src/downloader/yt-dlp/plugins', import.meta.url)),
];

interface Answer {
  /** How many extractors each of the names stands for. */
  counts: number[];
  /** Name of the extractor that takes the address. */
  reader: string | null;
}

/** Asks the real engine which of the named extractors would read each address. */
async function ask(videos: readonly ParsedVideo[]): Promise<Answer[]> {
  const { ytDlpPath } = await findDownloader();
  const directory = makeTemporaryDirectory();
  const questions = join(directory, 'questions.json');
  writeFileSync(
    questions,
    JSON.stringify(videos.map(({ extractor, canonicalUrl }) => ({ names: extractor, url: canonicalUrl }))),
  );
  const given = [
    '--ignore-config',
    '--no-update',
    '--no-plugin-dirs',
    ...plugins.flatMap((path) => ['--plugin-dirs', path]),
  ];
  const said = await new Promise<string>((resolve) => {
    const environment = { PATH: process.env['PATH'] ?? '', HOME: directory, TMPDIR: directory };
    const words = [...given, '--ies', 'reeltally:which', '--', `reeltally-which:${questions}`];
    execFile(ytDlpPath, words, { env: environment, timeout: 60_000 }, (_error, _stdout, stderr) => resolve(stderr));
  });
  expect(said).toContain('answered');
  const answers = JSON.parse(readFileSync(`${questions}.answers`, 'utf8')) as Answer[];
  rmSync(directory, { recursive: true, force: true });
  return answers;
}

it('the engine has every extractor of the table, by one name each, and it takes every canonical address', async () => {
  const items = shapesOfTable.filter(({ address }) => 'item' in address);
  const videos = items.flatMap(({ platform, address, shape }) =>
    fc.sample(addressesOf(platform, address, shape), scaled(5, 100)).flatMap((sample) => {
      const result = parseVideoUrl(sample);
      return result.ok && result.video ? [result.video] : [];
    }),
  );
  expect(new Set(videos.map(({ platform }) => platform)).size).toBe(platforms.length);
  const answers = await ask(videos);
  videos.forEach(({ canonicalUrl, extractor }, index) => {
    const names = extractor.split(',');
    const [first = ''] = names;
    expect
      .soft(answers[index], canonicalUrl)
      .toEqual({ counts: names.map(() => 1), reader: expect.stringMatching(new RegExp(`^${first}$`, 'i')) as unknown });
  });
});
