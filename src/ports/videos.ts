import type { Fault } from '../domain/download-job-events.ts';
import type { Output, Quality } from '../domain/download-options.ts';
import type { FailureReason } from '../domain/failure-reasons.ts';
import type { ShortLink } from '../domain/parse-video-url.ts';

/** One item of one platform. The service keeps nothing else of a client's URL. */
export interface VideoReference {
  platform: string;
  videoId: string;
  /** Rebuilt from the pieces of the address, never the client's own string. */
  canonicalUrl: string;
}

export interface VideoMetadata {
  title: string;
  durationSeconds: number;
  /** URL of an image; empty if the platform names none. */
  thumbnail: string;
  /** Why a download would fail, as far as that is known beforehand; null if nothing is known against it. */
  downloadRefusal: FailureReason | null;
}

/** `detail` is for people at the service: it may quote the platform, cut and cleaned of control characters. */
interface VideoFailure {
  ok: false;
  reason: FailureReason;
  detail: string;
}

export interface DownloadFailure extends VideoFailure {
  /** Where the downloader has named the item. */
  title?: string | undefined;
  /** `service` for our own disk, programs and mistakes; `video` for everything that an item or its platform may cause. */
  fault: Fault;
  /** The item was refused before a byte of it was fetched. */
  nothingFetched?: boolean;
  /** The formats that failed their verification: another attempt takes others, if there are any. */
  tried?: readonly string[];
  /** Another attempt cannot help, although the reason is one that is tried again. */
  isFinal?: boolean;
}

export interface DownloadProgress {
  /** 0 to 100; null if the size is not known. */
  percent: number | null;
  bytesPerSecond: number | null;
  etaSeconds: number | null;
}

export interface DownloadedFile {
  ok: true;
  /** Path of the finished file, inside the attempt's own directory. */
  path: string;
  /** `media.` and the output, such as `media.mp4`. */
  name: string;
  mime: string;
  sizeBytes: number;
  sha256: string;
  durationSeconds: number;
  /** Empty if the item has none that can be seen. */
  title: string;
  /** The chosen formats and why, for people. */
  detail?: string;
}

export interface WantedFile {
  output: Output;
  quality: Quality;
  /** Number of the still in an image post, from 1. */
  item: number;
}

export type ProbeResult = { ok: true; metadata: VideoMetadata } | VideoFailure;

export interface VideoSource {
  /** Fetches the metadata of an item without downloading it. Never throws for anything the platform or the downloader does. */
  probe(video: VideoReference, options: { signal: AbortSignal }): Promise<ProbeResult>;

  /**
   * Downloads into `directory`, which is fresh and belongs to this attempt alone, and verifies the result. Never throws for
   * anything the platform or the downloader does. Aborting `signal` ends every child process before the promise settles.
   */
  download(
    video: VideoReference,
    wanted: WantedFile,
    options: {
      directory: string;
      signal: AbortSignal;
      onProgress: (progress: DownloadProgress) => void;
      /** Identifies the span that the download is part of. */
      traceparent?: string | undefined;
      /** The `tried` of earlier attempts, in which a format may occur several times. */
      tried?: readonly string[];
    },
  ): Promise<DownloadedFile | DownloadFailure>;
}

/**
 * - `found`: the address that the platform redirects to, an item of the same platform. The caller parses it again.
 * - `unresolved`: the platform named no item of its own.
 * - `platform_failed`: the platform could not say at the moment, or did not answer in time.
 * - `no_answer`: no worker could ask the platform.
 */
export type ShortLinkAnswer =
  { outcome: 'found'; url: string } | { outcome: 'unresolved' | 'platform_failed' | 'no_answer' };

/** Asks a worker which item a short link stands for. The API process itself never fetches an address that a client names. */
export interface ShortLinks {
  /** Never throws. */
  lookUp(link: ShortLink): Promise<ShortLinkAnswer>;
}

/** Asks a worker for the metadata of a video. The API process itself never fetches an address that a client names. */
export interface MetadataProbe {
  /** Never throws. `nobodyAnswered`: no worker answered in time. */
  probe(
    video: VideoReference,
  ): Promise<Extract<ProbeResult, { ok: true }> | (VideoFailure & { nobodyAnswered?: true })>;
}
