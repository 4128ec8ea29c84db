import { endlessSizeBytes, type MediaSet, mediaSets, type Rendition, type SampleItem } from './items.ts';

function setOf(item: SampleItem): MediaSet {
  return mediaSets[item.media];
}

function renditionsOf(item: SampleItem): readonly Rendition[] {
  return setOf(item).renditions.slice(0, item.maxRenditions);
}

function listedRenditions(id: string, item: SampleItem): object[] {
  const { packaging } = setOf(item);
  if (packaging === 'hls' || packaging === 'dash' || packaging === 'stills') return [];
  const pictures = renditionsOf(item).map((rendition) => ({
    id: rendition.name,
    path: `/media/${id}/${rendition.name}.mp4`,
    extension: 'mp4',
    width: rendition.width,
    height: rendition.height,
    kilobitsPerSecond: rendition.kilobitsPerSecond,
    // The platform states it in its list for this one alone.
    ...(item.delivery === 'endless' && { sizeBytes: endlessSizeBytes }),
    videoCodec: 'avc1.42C01E',
    audioCodec: packaging === 'files' ? 'mp4a.40.2' : 'none',
  }));
  if (packaging === 'files' || packaging === 'silent') return pictures;
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

/** The metadata of an item that the extractor reads. */
export function describeItem(id: string, item: SampleItem): Record<string, unknown> {
  const { packaging } = setOf(item);
  return {
    id,
    title: item.title,
    durationSeconds: item.durationSeconds,
    thumbnailPath: `/thumbnails/${id}.svg`,
    isLive: item.isLive ?? false,
    refusal: item.refusal ?? null,
    renditions: listedRenditions(id, item),
    playlistPath: packaging === 'hls' ? `/media/${id}/${masterPlaylistName}` : null,
    manifestPath: packaging === 'dash' ? `/media/${id}/${manifestName}` : null,
    stillPaths: packaging === 'stills' ? renditionsOf(item).map(({ name }) => `/media/${id}/${name}`) : null,
  };
}

export const masterPlaylistName = 'index.m3u8';

/** The DASH manifest, as ffmpeg writes it. */
export const manifestName = 'index.mpd';

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
  switch (setOf(item).packaging) {
    case 'files':
    case 'silent':
      return names.some((rendition) => name === `${rendition}.mp4`);
    case 'tracks':
      return name === 'sound.m4a' || names.some((rendition) => name === `${rendition}.mp4`);
    case 'hls':
      if (name === masterPlaylistName) return true;
      return names.some((rendition) => name === `${rendition}.m3u8` || new RegExp(`^${rendition}\\d\\.ts$`).test(name));
    case 'dash':
      return name === manifestName || /^(?:init\d\.mp4|piece\d\.\d\.m4s)$/.test(name);
    case 'sound':
      return name === 'sound.m4a';
    case 'stills':
      return names.includes(name);
  }
}
