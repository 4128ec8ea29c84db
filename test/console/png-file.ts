import { crc32, deflateSync, inflateSync } from 'node:zlib';
import type { Reduced } from './in-page/answers.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

/** A PNG file with a palette (PNG, third edition, 5.3 and 11.2), which browsers do not write: a third of the size of theirs. */
export function pngFile({ width, height, palette, rows }: Reduced): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits for each pixel, which are an index into the palette.
  header.set([8, 3], 8);
  const data = deflateSync(inflateSync(Buffer.from(rows, 'base64')), { level: 9 });
  const chunks = [chunk('IHDR', header), chunk('PLTE', Buffer.from(palette)), chunk('IDAT', data)];
  return Buffer.concat([signature, ...chunks, chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, sum]);
}
