import { RequestRefused } from './request-refused.ts';

/** No body of ours has more than three; code that walks a value may call itself for each. */
const maxLevels = 32;

/** The body of a request: JSON as the media type says, or no body at all. @throws {RequestRefused} */
export function readJsonBody(body: unknown, contentType: string | undefined): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const mediaType = (contentType ?? '').split(';')[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new RequestRefused('Content-Type: must be application/json');
  const read = parse(body);
  if (hasMoreLevels(read, maxLevels)) throw new RequestRefused('body: is nested too deeply');
  return read;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    throw new RequestRefused('body: is not valid JSON');
  }
}

/** Level by level, without calling itself. */
function hasMoreLevels(value: unknown, most: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= most && level.length > 0; depth += 1)
    level = level.flatMap((each): unknown[] => (isParent(each) ? Object.values(each) : []));
  return level.length > 0;
}

const isParent = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
