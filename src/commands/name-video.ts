import { type ParsedVideo, parseVideoUrl, type ShortLink, type VideoUrlResult } from '../domain/parse-video-url.ts';
import type { PlatformConfiguration } from '../domain/platforms/platforms.ts';
import type { PlatformRules } from '../ports/platform-rules.ts';
import type { ShortLinks } from '../ports/videos.ts';

export type NamedVideo =
  | { outcome: 'named'; video: ParsedVideo; wasLookedUp: boolean }
  /** `explanation` is a sentence for the client. */
  | { outcome: 'refused'; refusal: Extract<VideoUrlResult, { ok: false }>['refusal']; explanation: string }
  /** No worker could look a short link up, or its platform could not say at the moment. */
  | { outcome: 'no_answer' }
  | { outcome: 'platform_failed' };

type Refused = Extract<NamedVideo, { outcome: 'refused' }>;

/** The item that an address names, unless the operator's rules refuse it; a worker looks up short links. */
export async function nameVideo(
  url: string,
  { shortLinks, rules, ...options }: PlatformConfiguration & { shortLinks: ShortLinks; rules: PlatformRules },
): Promise<NamedVideo> {
  const parsed = parseVideoUrl(url, options);
  if (!parsed.ok) return { outcome: 'refused', refusal: parsed.refusal, explanation: parsed.explanation };
  const switchedOff = refusalOfPlatform((parsed.video ?? parsed.shortLink).platform, rules);
  if (switchedOff) return switchedOff;
  const named: NamedVideo = parsed.video
    ? { outcome: 'named', video: parsed.video, wasLookedUp: false }
    : await lookUp(parsed.shortLink, shortLinks, options);
  return (named.outcome === 'named' ? refusalOfItem(named.video, rules) : undefined) ?? named;
}

function refusalOfPlatform(platform: string, rules: PlatformRules): Refused | undefined {
  const why = rules.whyOff(platform);
  if (why === undefined) return undefined;
  const explanation = `This platform is switched off here: ${why}`;
  return { outcome: 'refused', refusal: 'unsupported_platform', explanation };
}

/** Not `unsupported_platform`: a client would take that for all items of the platform. */
function refusalOfItem(video: ParsedVideo, rules: PlatformRules): Refused | undefined {
  const why = rules.whyBlocked(video);
  if (why === undefined) return undefined;
  return { outcome: 'refused', refusal: 'invalid_request', explanation: `This video is blocked here: ${why}` };
}

async function lookUp(link: ShortLink, shortLinks: ShortLinks, options: PlatformConfiguration): Promise<NamedVideo> {
  const answer = await shortLinks.lookUp(link);
  if (answer.outcome === 'no_answer' || answer.outcome === 'platform_failed') return { outcome: answer.outcome };
  // The worker's answer is parsed like input of a client.
  const parsed = answer.outcome === 'found' ? parseVideoUrl(answer.url, options) : undefined;
  if (parsed?.ok && parsed.video?.platform === link.platform)
    return { outcome: 'named', video: parsed.video, wasLookedUp: true };
  return {
    outcome: 'refused',
    refusal: 'unsupported_platform',
    explanation:
      'The platform does not resolve this short link to a single video; send the address of the video itself.',
  };
}
