import type { Different, Reduced, Shown } from './answers.ts';

/** Compares a picture of a page with the one that was accepted. @returns nothing where it is the same */
export async function compare({ shot, kept }: Shown): Promise<Different | undefined> {
  // Another processor draws the edges of letters a little otherwise: in each tile few pixels may differ, fewer than in a digit.
  const tolerance = 48;
  const tileSide = 16;
  const mostInTile = 6;
  const shown = await read(shot);
  const { width, height, pixels } = shown;
  // To 16 values for each channel: the shades of the edges of letters are many otherwise, and files large.
  const reducedTo = Uint8Array.from({ length: 256 }, (_, value) => Math.round(value / 17) * 17);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = reducedTo[pixels[at]!]!;
  const before = kept === undefined ? undefined : await read(kept);
  const isSameSize = before?.width === width && before.height === height;
  const differing = isSameSize ? differingPixels(pixels, before.pixels) : undefined;
  if (differing && isTolerable(differing, width)) return undefined;
  return { reduced: await reduce(shown), difference: await write(differing ? inRed(shown, differing) : shown) };

  interface Picture {
    width: number;
    height: number;
    /** Red, green, blue and opacity of each. */
    pixels: Uint8ClampedArray;
  }

  /** Where they begin. */
  function differingPixels(one: Picture['pixels'], other: Picture['pixels']): number[] {
    // Most are the same, which is seen at once.
    const [ones, others] = [one, other].map(({ buffer }) => new Uint32Array(buffer)) as [Uint32Array, Uint32Array];
    const found: number[] = [];
    for (let pixel = 0; pixel < ones.length; pixel += 1) {
      if (ones[pixel] === others[pixel]) continue;
      const at = pixel * 4;
      const differs = [at, at + 1, at + 2].some((each) => Math.abs(one[each]! - other[each]!) > tolerance);
      if (differs) found.push(at);
    }
    return found;
  }

  function isTolerable(differing: readonly number[], width: number): boolean {
    const tiles = new Map<string, number>();
    for (const at of differing) {
      const [x, y] = [(at / 4) % width, Math.floor(at / 4 / width)];
      const tile = [x, y].map((each) => Math.floor(each / tileSide)).join();
      tiles.set(tile, (tiles.get(tile) ?? 0) + 1);
    }
    return [...tiles.values()].every((count) => count <= mostInTile);
  }

  function inRed({ width, height, pixels }: Picture, differing: readonly number[]): Picture {
    const pale = pixels.map((value, at) => (at % 4 === 3 ? value : 200 + value / 5));
    for (const at of differing) pale.set([255, 0, 0], at);
    return { width, height, pixels: pale };
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
