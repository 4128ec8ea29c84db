import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DownloadFailure } from '../../ports/videos.ts';
import { failure } from '../download-failures.ts';
import { fieldsOf, finishedFiles, headOf, onlyFiles, runTool, type ToolOptions, type Verdict } from './tools.ts';

const jpeg = finishedFiles.jpg.demuxer;

/** Recognized by their first bytes, whatever type the platform declares. */
const pictureKinds: readonly { demuxer: string; begins: RegExp; isLenient?: true }[] = [
  { demuxer: jpeg, begins: /^\xff\xd8\xff/s },
  // The second bit of its flags says that it moves.
  {
    demuxer: 'webp_anim',
    begins: /^RIFF....WEBPVP8X.{4}[\x02\x06\x0a\x0e\x12\x16\x1a\x1e\x22\x26\x2a\x2e\x32\x36\x3a\x3e]/s,
  },
  { demuxer: 'webp_pipe', begins: /^RIFF....WEBP/s },
  { demuxer: 'png_pipe', begins: /^\x89PNG\r\n\x1a\n/s },
  { demuxer: 'gif', begins: /^GIF8[79]a/s },
  { demuxer: 'bmp_pipe', begins: /^BM/s },
  // It has private tags, which the decoder takes for errors.
  { demuxer: 'tiff_pipe', begins: /^(?:II\*\0|MM\0\*)/s, isLenient: true },
  { demuxer: 'jpegxl_pipe', begins: /^(?:\xff\n|\0\0\0\fJXL )/s },
  { demuxer: 'j2k_pipe', begins: /^(?:\xff\x4f\xff\x51|\0\0\0\fjP {2})/s },
  // AVIF and HEIC.
  { demuxer: 'mov', begins: /^....ftyp/s },
];

/** A JPEG has no transparency: what shines through is white, as on a page. */
const onWhite =
  'format=rgba,split[p][q];[p]drawbox=c=white@1:t=fill:replace=1[w];[w][q]overlay=format=auto,format=yuvj444p';

const pngHeadBytes = 8;

/** Takes away what lies behind a PNG, such as what an editor left of a larger one: ffmpeg takes it for another picture. */
async function cutBehindPng(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  const head = Buffer.alloc(8);
  for (let at = pngHeadBytes; (await file.read(head, 0, 8, at)).bytesRead === 8;) {
    // Each chunk has its length and its name before it, and a checksum behind it.
    at += 12 + head.readUInt32BE(0);
    if (head.toString('latin1', 4) !== 'IEND') continue;
    if (at < (await file.stat()).size) await file.truncate(at);
    return;
  }
}

/** Converts the first picture of a file to a JPEG. */
async function convert(
  source: string,
  target: string,
  { demuxer, isLenient }: (typeof pictureKinds)[number],
  options: ToolOptions,
): Promise<DownloadFailure | undefined> {
  const strict = ['-nostdin', '-xerror', ...(isLenient ? [] : ['-err_detect', 'explode'])];
  const picture = ['-vf', onWhite, '-frames:v', '1', '-update', '1', '-q:v', '2', '-f', 'image2'];
  const input = ['-protocol_whitelist', 'file', '-f', demuxer, '-i', `file:${source}`];
  const made = await runTool('ffmpeg', [...strict, ...input, ...picture, `file:${target}`], options);
  return 'ok' in made ? made : undefined;
}

/**
 * Makes the finished file from the one picture that came. A JPEG stays the same, byte for byte, whatever lies behind its
 * picture: phones put a map of brightness there, or a film.
 */
export async function finishStill(media: string, options: ToolOptions): Promise<Verdict> {
  const came = await onlyFiles(media, 1);
  if ('detail' in came) return failure('platform_error', came.detail);
  const [fetched, target] = [join(options.directory, 'part0'), join(media, finishedFiles.jpg.name)];
  await rename(join(media, came.files[0]?.name ?? ''), fetched);
  const head = await headOf(fetched);
  const kind = pictureKinds.find(({ begins }) => begins.test(head));
  if (kind === undefined) return failure('unsupported_media', 'The file is no picture that can be read.');
  if (kind.demuxer === jpeg) await rename(fetched, target);
  else {
    if (kind.demuxer === 'png_pipe') await cutBehindPng(fetched);
    const failed = await convert(fetched, target, kind, options);
    if (failed !== undefined) return failed;
    await rm(fetched, { force: true });
  }
  return await verifyStill(target, options);
}

/** Decodes the picture: it must have a width and a height, and be complete. */
export async function verifyStill(path: string, options: ToolOptions): Promise<Verdict> {
  let frame = '';
  const shown = ['-show_entries', 'stream=width,height,nb_read_frames', '-of', 'compact', '-i', `file:${path}`];
  const decoded = await runTool(
    'ffprobe',
    [
      ...['-protocol_whitelist', 'file', '-err_detect', 'explode', '-f', jpeg],
      ...['-read_intervals', '%+#1', '-count_frames', ...shown],
    ],
    { ...options, onLine: (line) => (frame += line) },
  );
  if ('ok' in decoded) return decoded;
  const { fields } = fieldsOf(frame);
  const isWhole = decoded.stderr === '' && fields.get('nb_read_frames') === '1';
  if (!isWhole || !(Number(fields.get('width')) > 0 && Number(fields.get('height')) > 0)) {
    return failure('platform_error', `The still is damaged: ${frame} ${decoded.stderr}`);
  }
  return { ok: true, durationSeconds: 0 };
}
