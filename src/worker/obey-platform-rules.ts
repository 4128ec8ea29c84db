import type { PlatformRules } from '../ports/platform-rules.ts';
import type { DownloadFailure, VideoReference, VideoSource } from '../ports/videos.ts';

/**
 * The rules of the operator decide once more at the worker: a job may have been queued before a rule was made. What the service no
 * longer delivers is no fault of the video, so it costs nothing.
 */
export function obeyPlatformRules(source: VideoSource, rules: PlatformRules): VideoSource {
  return {
    probe: async (video, options) => refusalByRules(rules, video) ?? (await source.probe(video, options)),
    download: async (video, wanted, options) => {
      const refused = refusalByRules(rules, video);
      if (refused) return refused;
      const result = await source.download(video, wanted, options);
      // The platform of an attempt that has begun may be switched off meanwhile: its file is there. A block is for the file too.
      return (options.signal.aborted ? undefined : blocked(rules, video)) ?? result;
    },
  };
}

export function refusalByRules(rules: PlatformRules, video: VideoReference): DownloadFailure | undefined {
  const whyOff = rules.whyOff(video.platform);
  if (whyOff === undefined) return blocked(rules, video);
  const detail = `The operator has switched this platform off: ${whyOff}`;
  return { ok: false, reason: 'unsupported_media', fault: 'service', detail };
}

function blocked(rules: PlatformRules, video: VideoReference): DownloadFailure | undefined {
  const why = rules.whyBlocked(video);
  if (why === undefined) return undefined;
  const detail = `The operator has blocked this item: ${why}`;
  return { ok: false, reason: 'video_unavailable', fault: 'service', detail };
}
