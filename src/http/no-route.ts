import { apiPrefix, endpoints } from './endpoints.ts';
import { ApiError } from './errors.ts';

/** The answer to a request that no endpoint takes. */
export interface NoRoute {
  error: ApiError;
  /** The methods that the path takes, for the header field Allow. */
  allow: string | undefined;
}

/** An unknown path, or a known one with a method that it does not take: both with or without a key. */
export function noRoute(url: string): NoRoute {
  const path = pathOf(url);
  const allowed = endpoints.filter((endpoint) => apiPrefix + endpoint.path === path).map(({ method }) => method);
  if (allowed.length === 0) return { error: new ApiError('not_found'), allow: undefined };
  return { error: new ApiError('method_not_allowed'), allow: allowed.join(', ') };
}

/** A path as the router reads it: without origin, query and fragment, and decoded, so that `/credit%73` is `/credits`. */
function pathOf(url: string): string | undefined {
  const [path = ''] = url.replace(/^https?:\/\/[^/]*/, '').split(/[?#]/, 1);
  try {
    return decodeURI(path);
  } catch {
    return undefined;
  }
}
