import { z } from 'zod';
import { maxUrlCharacters, parseVideoUrl } from '../domain/video-url.ts';
import type { ParsedVideo } from '../domain/video-url.ts';
import { ApiError } from './errors.ts';

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

/** The body of a request: JSON as the media type says, or no body at all. @throws {ApiError} invalid_request */
export function readJsonBody(body: unknown, contentType: string | undefined): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const mediaType = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new ApiError('invalid_request', 'Content-Type: must be application/json');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    throw new ApiError('invalid_request', 'body: is not valid JSON');
  }
}

export const urlParameter = z
  .string('is required, and must be a string')
  .min(1, 'is required')
  .describe(`Address of the video, as a browser shows it; at most ${String(maxUrlCharacters)} characters.`);

/** What answers say of a video. */
export const platform = z.string().describe("The platform's name in lower case, such as `youtube`.");
export const videoId = z.string().describe("The platform's own id of the video.");
export const canonicalUrl = z.string().describe("The video's address in the one form that this service uses.");

/** @throws {ApiError} invalid_request or unsupported_platform, with the reason */
export function readVideoUrl(url: string, samplePlatformOrigin: string | undefined): ParsedVideo {
  const parsed = parseVideoUrl(url, samplePlatformOrigin === undefined ? {} : { samplePlatformOrigin });
  if (!parsed.ok) throw new ApiError(parsed.refusal, `url: ${parsed.explanation}`);
  return parsed.video;
}
