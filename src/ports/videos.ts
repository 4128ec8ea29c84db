import type { Output, Quality } from '../domain/download-options.ts';
import type { Fault } from '../domain/download-job-events.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { ShortLink } from '../domain/video-url.ts';

/** One item of one platform: all that the service keeps of a client's URL. */
export interface VideoReference {
  platform: string;
  videoId: string;
  /** Rebuilt from platform and id, never the client's own string. */
  canonicalUrl: string;
}

export interface VideoMetadata {
  title: string;
  durationSeconds: number;
  /** URL of an image; empty where the platform names none. */
  thumbnail: string;
}

/** `detail` is for the log only: it may quote what the platform said, cut and cleaned of control characters. */
export interface VideoFailure {
  ok: false;
  reason: FailureReason;
  detail: string;
}

export interface DownloadFailure extends VideoFailure {
  /** `service` for what is ours alone: our disk, our programs, our mistakes. All that an item may bring about is `video`. */
  fault: Fault;
}

export interface DownloadProgress {
  /** 0 to 100, or null where the size is not known. */
  percent: number | null;
  bytesPerSecond: number | null;
  etaSeconds: number | null;
}

export interface DownloadedFile {
  ok: true;
  /** Where the finished file lies, inside the attempt's own directory. */
  path: string;
  /** `media.` and the output: `media.mp4`. */
  name: string;
  mime: string;
  sizeBytes: number;
  sha256: string;
  durationSeconds: number;
}

export interface WantedFile {
  output: Output;
  quality: Quality;
  /** Which still of an image post, from 1. */
  item: number;
}

export interface VideoSource {
  /** Looks an item up without downloading it. Never throws for anything the platform or the engine does. */
  probe(
    video: VideoReference,
    options: { signal: AbortSignal },
  ): Promise<{ ok: true; metadata: VideoMetadata } | VideoFailure>;

  /**
   * Downloads into `directory`, which is fresh and belongs to this attempt alone, and verifies the result. Never throws for
   * anything the platform or the engine does; an abort of `signal` ends every child process before the promise is settled.
   */
  download(
    video: VideoReference,
    wanted: WantedFile,
    options: {
      directory: string;
      signal: AbortSignal;
      onProgress: (progress: DownloadProgress) => void;
      /** The span that it is part of. */
      traceparent?: string | undefined;
    },
  ): Promise<DownloadedFile | DownloadFailure>;
}

/**
 * - `found`: where the platform sends whoever follows the link: an item of the same platform. Not to be believed unread.
 * - `unresolved`: the platform named no item of its own, or nothing in time.
 * - `no_answer`: nobody could ask the platform now.
 */
export type ShortLinkAnswer = { outcome: 'found'; url: string } | { outcome: 'unresolved' | 'no_answer' };

/** Asks a worker which item a short link stands for; the API process itself never fetches what a client names. */
export interface ShortLinks {
  /** Never throws. */
  lookUp(link: ShortLink): Promise<ShortLinkAnswer>;
}

/** Asks a worker about a video; the API process itself never fetches what a client names. */
export interface MetadataProbe {
  /** Never throws: no worker in time is a failure like any other, but for its mark. */
  probe(
    video: VideoReference,
  ): Promise<{ ok: true; metadata: VideoMetadata } | (VideoFailure & { nobodyAnswered?: true })>;
}
