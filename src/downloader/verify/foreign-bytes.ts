import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Containers that are no more than frames, so that a decoder is given whatever lies between and behind these. */
const isFramesOnly = (container: string) => ['mp3', 'flac', 'ac3', 'eac3'].includes(container);

const tagInside = /ID3[\x02-\x04]\0|TAG.{125}\xff[\xe0-\xff]/gs;
const tagBytes = 130;
const behind = /(?:TAG.{125}|APETAGEX.{24}|LYRICS200|\0{16})$/s;

/**
 * Tags in a file of nothing but frames, as editors that put two files together leave them, and tags or zeros behind its frames.
 * A decoder takes each for one damaged packet.
 *
 * @returns how many there are
 */
export async function foreignStretches(path: string, container: string): Promise<number> {
  if (!isFramesOnly(container)) return 0;
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  let [found, carried] = [0, ''];
  // Not the tag with which a file begins.
  const stream = file.createReadStream({ start: 1, encoding: 'latin1', highWaterMark: 1 << 20 });
  for await (const chunk of stream as AsyncIterable<string>) {
    const text = carried + chunk;
    let end = 0;
    for (const match of text.matchAll(tagInside)) {
      found += 1;
      end = match.index + match[0].length;
    }
    // A tag counts once.
    carried = text.slice(Math.max(end, text.length - tagBytes));
  }
  return found + (behind.test(carried) ? 1 : 0);
}
