import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runIn } from './command-line.ts';

interface Shown {
  programs: { program: string; version: string | null; path: string; sha256: string; expected_sha256: string | null }[];
  age_days: number;
  guards: { guard: string; state: string }[];
  warnings: string[];
}

it('engine show tells versions, checksums, age and guards, without a running service', async () => {
  const { code, stdout, stderr } = await runIn({ REELTALLY_DATA: temporaryDirectory() })('engine', 'show', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const shown = JSON.parse(stdout) as Shown;
  expect(shown.programs.map(({ program }) => program).slice(0, 3)).toEqual(['yt-dlp', 'ffmpeg', 'ffprobe']);
  for (const { version } of shown.programs) expect(version).toMatch(/^\S+$/);
  const [ytDlp] = shown.programs;
  expect(ytDlp?.expected_sha256 ?? ytDlp?.sha256).toBe(ytDlp?.sha256);
  expect(shown.guards.map(({ guard }) => guard)).toEqual([
    ...['proxy', 'network', 'files', 'processes', 'privileges', 'calls', 'environment', 'disk', 'memory', 'ending'],
  ]);
  expect(shown.guards.filter(({ state }) => state === 'failed')).toEqual([]);
  expect(shown.warnings.some((warning) => warning.includes('days old'))).toBe(shown.age_days > 60);
});

it('engine show fails where a program does not start, and says which', async () => {
  const directory = temporaryDirectory();
  const ytDlp = join(directory, 'yt-dlp');
  writeFileSync(ytDlp, '#!/bin/sh\necho broken >&2\nexit 1\n');
  chmodSync(ytDlp, 0o755);
  const ran = await runIn({ REELTALLY_DATA: join(directory, 'data'), YTDLP_PATH: ytDlp })('engine', 'show');
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain(`warning: yt-dlp does not start: ${ytDlp}`);
  expect(ran.stderr).toMatch(/^reeltally: Downloads would fail with these programs/);
});
