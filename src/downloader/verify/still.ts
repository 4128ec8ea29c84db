import { constants } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { fieldsOf, refuse } from './packets.ts';
import type { Verdict } from './packets.ts';
import { finishedFiles, onlyFile, runTool } from './verify-file.ts';
import type { CheckOptions } from './verify-file.ts';

/** Recognized by their first bytes, whatever type the platform declares. */
const pictureKinds: readonly { demuxer: string; begins: RegExp }[] = [
  { demuxer: 'jpeg_pipe', begins: /^\xff\xd8\xff/s },
  { demuxer: 'webp_pipe', begins: /^RIFF....WEBP/s },
  { demuxer: 'png_pipe', begins: /^\x89PNG\r\n\x1a\n/s },
];

async function demuxerOf(path: string): Promise<string | undefined> {
  // Opening a pipe would wait for a writer, and a link may lead anywhere.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    const head = buffer.toString('latin1', 0, bytesRead);
    return pictureKinds.find(({ begins }) => begins.test(head))?.demuxer;
  } finally {
    await file.close();
  }
}

/**
 * Converts the one picture in a directory to `media.jpg`. A JPEG stays the same, byte for byte.
 *
 * @returns why that failed, else undefined
 */
export async function makeJpeg(
  media: string,
  options: Omit<CheckOptions, 'path'>,
): Promise<Extract<Verdict, { ok: false }> | undefined> {
  const [name = finishedFiles.jpg.name] = await readdir(media);
  const only = await onlyFile(media, name);
  if ('detail' in only) return refuse(only.detail);
  const [fetched, target] = [join(media, name), join(media, finishedFiles.jpg.name)];
  const demuxer = await demuxerOf(fetched);
  if (demuxer === undefined) return refuse('The still is neither JPEG nor WebP nor PNG.', 'unsupported_media');
  if (demuxer === finishedFiles.jpg.demuxer) {
    await rename(fetched, target);
    return undefined;
  }
  const source = join(options.directory, 'still');
  await rename(fetched, source);
  const picture = ['-frames:v', '1', '-update', '1', '-q:v', '2', '-f', 'image2', `file:${target}`];
  const made = await runTool(
    'ffmpeg',
    ['-nostdin', '-xerror', '-err_detect', 'explode', '-f', demuxer, '-i', `file:${source}`, ...picture],
    { ...options, path: source },
  );
  await rm(source, { force: true });
  return 'ok' in made ? made : undefined;
}

/** Decodes the whole still: it must be one frame with a width and a height, without an error, and be complete. */
export async function verifyStill(options: CheckOptions): Promise<Verdict> {
  let frame = '';
  const decoded = await runTool(
    'ffprobe',
    [
      ...['-err_detect', 'explode', '-f', finishedFiles.jpg.demuxer, '-count_frames'],
      ...['-show_entries', 'stream=width,height,nb_read_frames', '-of', 'compact', '-i', `file:${options.path}`],
    ],
    { ...options, onLine: (line) => (frame += line) },
  );
  if ('ok' in decoded) return decoded;
  const { fields } = fieldsOf(frame);
  const isWhole = decoded.stderr === '' && fields.get('nb_read_frames') === '1';
  if (!isWhole || !(Number(fields.get('width')) > 0 && Number(fields.get('height')) > 0)) {
    return refuse(`The still is damaged: ${frame} ${decoded.stderr}`);
  }
  return { ok: true, durationSeconds: 0 };
}
