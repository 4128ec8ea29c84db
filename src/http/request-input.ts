import { z } from 'zod';
import { nameVideo } from '../commands/name-video.ts';
import { maxUrlCharacters, type ParsedVideo } from '../domain/parse-video-url.ts';
import { ApiError, type ApiErrorCode } from './errors.ts';
import type { PartsAway } from './retry-after.ts';

/**
 * Reads what a client sent. Unknown fields and parameters are ignored.
 *
 * @throws {ApiError} invalid_request, naming the field at fault
 */
export function readInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new ApiError(
    'invalid_request',
    where === '' ? (issue?.message ?? 'malformed') : `${where}: ${issue?.message ?? 'malformed'}`,
  );
}

export const urlParameter = z
  .string('is required, and must be a string')
  .min(1, 'is required')
  .describe(
    `Address of the video, as copied from a browser or a share button on a supported platform; at most ${String(maxUrlCharacters)} characters.`,
  );

/** The fields of a video in answers. */
export const platform = z.string().describe("The platform's name in lower case, such as `youtube`.");
export const videoId = z.string().describe("The platform's own id for the video.");
export const canonicalUrl = z.string().describe('Canonical address of the video.');

/** A short link could not be resolved at the moment. */
export class NotLookedUp extends ApiError {}

const platformFailed =
  'url: The video platform did not say where this short link leads; nothing is charged, and it may be tried again';

/**
 * The item that an address names; a worker looks up short links.
 *
 * @param options.whenUnanswered the endpoint's own code if the link could not be looked up at the moment
 * @throws {ApiError} invalid_request or unsupported_platform, with the reason; {NotLookedUp} with `whenUnanswered`
 */
export async function readVideoUrl(
  url: string,
  options: Parameters<typeof nameVideo>[1] & { partsAway: PartsAway; whenUnanswered: ApiErrorCode },
): Promise<ParsedVideo> {
  const named = await nameVideo(url, options);
  if (named.outcome === 'refused') throw new ApiError(named.refusal, `url: ${named.explanation}`);
  if (named.outcome === 'no_answer') throw new NotLookedUp(options.whenUnanswered, { away: 'workers' });
  if (named.outcome === 'platform_failed') {
    options.partsAway.works('workers');
    throw new NotLookedUp(options.whenUnanswered, platformFailed);
  }
  if (named.wasLookedUp) options.partsAway.works('workers');
  return named.video;
}
