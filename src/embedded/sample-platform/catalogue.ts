import { mediaSets } from './items.ts';
import type { Rendition, SampleItem } from './items.ts';

interface ListedRendition {
  id: string;
  path: string;
  extension: string;
  width?: number;
  height?: number;
  kilobitsPerSecond: number;
  videoCodec: string;
  audioCodec: string;
}

function renditionsOf(item: SampleItem): readonly Rendition[] {
  return mediaSets[item.media].renditions.slice(0, item.maxRenditions);
}

function listedRenditions(id: string, item: SampleItem): ListedRendition[] {
  const { packaging } = mediaSets[item.media];
  if (packaging === 'hls') return [];
  const pictures = renditionsOf(item).map((rendition) => ({
    id: rendition.name,
    path: `/media/${id}/${rendition.name}.mp4`,
    extension: 'mp4',
    width: rendition.width,
    height: rendition.height,
    kilobitsPerSecond: rendition.kilobitsPerSecond,
    videoCodec: 'avc1.42C01E',
    audioCodec: packaging === 'tracks' ? 'none' : 'mp4a.40.2',
  }));
  if (packaging === 'files') return pictures;
  const sound = {
    id: 'sound',
    path: `/media/${id}/sound.m4a`,
    extension: 'm4a',
    kilobitsPerSecond: 64,
    videoCodec: 'none',
    audioCodec: 'mp4a.40.2',
  };
  return [...pictures, sound];
}

/** What the engine's extractor reads about an item. */
export function describeItem(id: string, item: SampleItem): Record<string, unknown> {
  return {
    id,
    title: item.title,
    durationSeconds: item.durationSeconds,
    thumbnailPath: `/thumbnails/${id}.svg`,
    isLive: item.isLive ?? false,
    refusal: item.refusal ?? null,
    renditions: listedRenditions(id, item),
    playlistPath: mediaSets[item.media].packaging === 'hls' ? `/media/${id}/${masterPlaylistName}` : null,
  };
}

export const masterPlaylistName = 'index.m3u8';

/** The HLS playlist that names the others, RFC 8216 section 4.3.4.2. */
export function masterPlaylist(item: SampleItem): string {
  const lines = renditionsOf(item).flatMap((rendition) => [
    `#EXT-X-STREAM-INF:BANDWIDTH=${rendition.kilobitsPerSecond * 1000},RESOLUTION=${rendition.width}x${rendition.height},CODECS="avc1.42C01E,mp4a.40.2"`,
    `${rendition.name}.m3u8`,
  ]);
  return ['#EXTM3U', ...lines, ''].join('\n');
}

/** File names that an item serves: only what its own packaging makes, so that no request names a path of its own. */
export function isMediaFile(item: SampleItem, name: string): boolean {
  const names = renditionsOf(item).map((rendition) => rendition.name);
  switch (mediaSets[item.media].packaging) {
    case 'files':
      return names.some((rendition) => name === `${rendition}.mp4`);
    case 'tracks':
      return name === 'sound.m4a' || names.some((rendition) => name === `${rendition}.mp4`);
    case 'hls':
      if (name === masterPlaylistName) return true;
      return names.some((rendition) => name === `${rendition}.m3u8` || new RegExp(`^${rendition}\\d\\.ts$`).test(name));
  }
}
