import { describe, expect, test } from 'vitest';
import { failureReasons } from '../../../src/domain/failure-reasons.ts';
import { processFailure } from '../../../src/downloader/download-failures.ts';
import type { ProcessResult } from '../../../src/downloader/sandbox/run-sandboxed.ts';
import {
  cleanDetail,
  failureRow,
  searchedWords,
  ytDlpFailure,
  ytDlpFailures,
} from '../../../src/downloader/yt-dlp/failure-phrases.ts';
import { phraseRows, tableOf } from '../../tidy/markdown.ts';
import { engineComplaints } from './engine-complaints.ts';

/** A conversion that fails and a judgement of our plugins, besides a full disk and a missing program. */
const isOurs = /^ERROR: Postprocessing: |in the place of another|goes on in another make|by its own lengths/;

describe('what the engine prints', () => {
  test.each(engineComplaints)('%s → %s', (words, reason) => {
    const line = `ERROR: ${words}`;
    expect(ytDlpFailure(`WARNING: [x] Sign in\n${line}\n`)).toEqual({
      reason,
      detail: line,
      // Everything else the item brought about.
      fault: reason === 'internal_error' || (reason === 'platform_error' && isOurs.test(line)) ? 'service' : 'video',
    });
  });

  test('every phrase is the one by which some line is known', () => {
    const phrases = ytDlpFailures.flatMap((row) => row.phrases.map((phrase) => ({ row, phrase })));
    const unreached = phrases.filter(({ row, phrase }) => {
      const lines = engineComplaints.map(([words]) => words);
      return !lines.some((line) => searchedWords(line).includes(phrase) && failureRow(line) === row);
    });
    expect(unreached.map(({ phrase }) => phrase)).toEqual([]);
  });

  test('the last error decides', () => {
    const stderr =
      'ERROR: [x] x: HTTP Error 429\nWARNING: [x] again\nERROR: [x] x: This video is private\nat the end\n';
    expect(ytDlpFailure(stderr).reason).toBe('private_video');
  });

  test.each(['', 'ERROR: words that nobody has heard before'])(
    'what nobody knows is the service’s fault: %j',
    (line) => {
      expect(ytDlpFailure(line)).toEqual({ reason: 'internal_error', fault: 'service', detail: line });
    },
  );

  test('a crash is told apart by its last exception: the disk and broken programs are no page’s doing, and an engine that is too old is not the customer’s', () => {
    const crash = (last: string) => `WARNING: [x] again\nTraceback (most recent call last):\n  File "a.py"\n${last}\n`;
    const packed = '[PYI-7:ERROR] Failed to execute script due to unhandled exception!';
    const reasons = (last: string) => {
      const { reason, fault } = ytDlpFailure(crash(last));
      return [reason, fault];
    };
    expect(reasons("TypeError: 'NoneType' object is not iterable")).toEqual(['platform_error', 'service']);
    expect(reasons(`KeyError: 'formats'\n${packed}`)).toEqual(['platform_error', 'service']);
    expect(reasons('ValueError: no space left on device')).toEqual(['platform_error', 'service']);
    expect(reasons('OSError: [Errno 28] No space left on device')).toEqual(['internal_error', 'service']);
    expect(reasons("ModuleNotFoundError: No module named 'x'")).toEqual(['internal_error', 'service']);
  });

  test('what the service alone has done is its fault: an engine that does not start, an attempt that is stopped', () => {
    const ended = (ending: ProcessResult['ending']) => processFailure({ ending, exitCode: null, stderr: '' })?.fault;
    expect([ended('not_started'), ended('cut_off'), ended('aborted')]).toEqual(['service', 'service', 'service']);
    const ofTheItem = ['timed_out', 'directory_full', 'memory_full', 'too_many_processes', 'traffic_spent'] as const;
    expect(new Set(ofTheItem.map(ended))).toEqual(new Set(['video']));
  });

  test('what is quoted is one short line without control characters', () => {
    expect(cleanDetail('a\r\n\u001b[31mb\u202e\ud800c')).toBe('a [31mb \ufffdc');
    expect(cleanDetail('x'.repeat(9000))).toHaveLength(500);
  });
});

test('docs/failures.md has the same phrases, in the same order', () => {
  expect(phraseRows('docs/failures.md', 'In the words of yt-dlp')).toEqual(ytDlpFailures);
});

test('docs/failures.md has every reason with its message and whether it is tried again', () => {
  const rows = tableOf('docs/failures.md', 'The reasons');
  expect(rows.map((row) => [row['reason']?.replaceAll('`', ''), row['tried again'] === 'yes', row['message']])).toEqual(
    Object.entries(failureReasons).map(([reason, { retryable, message }]) => [reason, retryable, message]),
  );
});
