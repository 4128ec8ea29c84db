/** The name, without its extension, under which clients save the file of an item. Links carry it. */
export const downloadNameOf = (platform: string, videoId: string): string =>
  `${platform}-${videoId.replaceAll(/[^\w-]/g, '_').slice(0, 80)}`;
