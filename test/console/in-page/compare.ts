import type { Compared, Reduced, Shown } from './answers.ts';

/** Compares a picture of a page with the one that was accepted. */
export async function compare({ shot, kept }: Shown): Promise<Compared> {
  const tolerance = 48;
  const shown = await read(shot);
  const { width, height, pixels } = shown;
  // To 16 values for each channel: the shades of the edges of letters are many otherwise, and files large.
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = Math.round((pixels[at] ?? 0) / 17) * 17;
  const reduced = await reduce(shown);
  const before = kept === undefined ? undefined : await read(kept);
  if (before?.width !== width || before.height !== height)
    return { reduced, changed: 1, difference: await write(shown) };
  const difference = new Uint8ClampedArray(pixels);
  let differing = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    const channels = [at, at + 1, at + 2];
    const differs = channels.some((each) => Math.abs((pixels[each] ?? 0) - (before.pixels[each] ?? 0)) > tolerance);
    if (differs) differing += 1;
    for (const each of channels) difference[each] = differs ? (each === at ? 255 : 0) : 200 + (pixels[each] ?? 0) / 5;
  }
  const changed = (differing * 4) / pixels.length;
  return { reduced, changed, difference: await write({ width, height, pixels: difference }) };

  interface Picture {
    width: number;
    height: number;
    /** Red, green, blue and opacity of each. */
    pixels: Uint8ClampedArray;
  }

  async function read(base64: string): Promise<Picture> {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.fromBase64(base64)], { type: 'image/png' }));
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext('2d');
    if (!context) throw new Error('no canvas');
    context.drawImage(bitmap, 0, 0);
    return { width, height, pixels: context.getImageData(0, 0, width, height).data };
  }

  async function reduce({ width, height, pixels }: Picture): Promise<Reduced> {
    const indices = new Map<number, number>();
    const rows = new Uint8Array((width + 1) * height);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      const [red = 0, green = 0, blue = 0] = pixels.subarray(pixel * 4, pixel * 4 + 3);
      const colour = (red << 16) | (green << 8) | blue;
      const index = indices.get(colour) ?? indices.size;
      indices.set(colour, index);
      // Behind the byte of each row's filter, which is none.
      rows[pixel + Math.floor(pixel / width) + 1] = index;
    }
    if (indices.size > 256) throw new Error(`the picture has ${String(indices.size)} colours`);
    const palette = [...indices.keys()].flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]);
    const compressed = new Blob([rows]).stream().pipeThrough(new CompressionStream('deflate'));
    return { width, height, palette, rows: (await new Response(compressed).bytes()).toBase64() };
  }

  async function write({ width, height, pixels }: Picture): Promise<string> {
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d')?.putImageData(new ImageData(new Uint8ClampedArray(pixels), width, height), 0, 0);
    const blob = await canvas.convertToBlob({ type: 'image/png' });
    return (await blob.bytes()).toBase64();
  }
}
