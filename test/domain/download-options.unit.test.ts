import { describe, expect, it } from 'vitest';
import { type DownloadOptions, type ItemKind, misfit, outputOf } from '../../src/domain/download-options.ts';

const options = (format: DownloadOptions['format'], item = 1) => ({ format, item });

describe('what may be asked of an item', () => {
  it.each([
    ['video', options('video')],
    ['video', options('audio')],
    ['sound', options('audio')],
    ['sound', options('video')],
    ['images', options('video', 7)],
  ] as const)('of %s: %j', (kind: ItemKind, asked) => {
    expect(misfit(kind, asked)).toBeUndefined();
  });

  it.each([
    ['video', options('video', 2), 'item'],
    ['sound', options('audio', 2), 'item'],
    ['images', options('audio'), 'format'],
  ] as const)('not of %s: %j', (kind: ItemKind, asked, option) => {
    expect(misfit(kind, asked)).toMatchObject({ option });
  });

  it.each([
    ['video', 'video', 'mp4'],
    ['video', 'audio', 'm4a'],
    ['sound', 'video', 'm4a'],
    ['sound', 'audio', 'm4a'],
    ['images', 'video', 'jpg'],
  ] as const)('%s, asked for as %s, becomes %s', (kind, format, output) => {
    expect(outputOf(kind, { format, audioFormat: 'm4a' })).toBe(output);
  });
});
