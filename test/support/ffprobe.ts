import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findDownloader } from './sample-platform.ts';

export interface Probed {
  format: string;
  durationSeconds: number;
  codecs: string[];
  height: number | undefined;
}

/** What ffprobe makes of a file, independently of what the service says of it. */
export async function ffprobe(path: string): Promise<Probed> {
  const { ffprobePath } = await findDownloader();
  const { stdout } = await promisify(execFile)(ffprobePath, [
    ...['-v', 'error', '-show_format', '-show_streams', '-of', 'json', path],
  ]);
  const { format, streams } = JSON.parse(stdout) as {
    format: { format_name: string; duration: string };
    streams: { codec_name: string; height?: number }[];
  };
  return {
    format: format.format_name,
    durationSeconds: Number(format.duration),
    codecs: streams.map(({ codec_name: codec }) => codec).sort(),
    height: streams.find(({ height }) => height !== undefined)?.height,
  };
}
