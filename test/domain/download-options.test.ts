import { describe, expect, it } from 'vitest';
import { misfit, outputOf } from '../../src/domain/download-options.ts';
import type { DownloadOptions, ItemKind } from '../../src/domain/download-options.ts';

const options = (format: DownloadOptions['format'], item = 1) => ({ format, item });

describe('what may be asked of an item', () => {
  it.each([
    ['video', options('video')],
    ['video', options('audio')],
    ['sound', options('audio')],
    ['images', options('video', 7)],
  ] as const)('of %s: %j', (kind: ItemKind, asked) => {
    expect(misfit(kind, asked)).toBeUndefined();
  });

  it.each([
    ['video', options('video', 2), 'item'],
    ['sound', options('audio', 2), 'item'],
    ['sound', options('video'), 'format'],
    ['images', options('audio'), 'format'],
  ] as const)('not of %s: %j', (kind: ItemKind, asked, option) => {
    expect(misfit(kind, asked)).toMatchObject({ option });
  });

  it('sound becomes what was asked for as sound', () => {
    expect(outputOf('sound', { format: 'audio', audioFormat: 'm4a' })).toBe('m4a');
  });
});
