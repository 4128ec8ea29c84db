import createClient, { type Client } from 'openapi-fetch';
import type { paths } from './paths.ts';

export type ApiClient = Client<paths>;

/**
 * Speaks to the API in its own types: paths, parameters and bodies that it does not know fail to compile.
 *
 * @param origin such as `https://api.example.com`
 * @param more another `fetch`, where the usual one will not do
 */
export function createApiClient(
  origin: string,
  key: string,
  more: { fetch?: (request: Request) => Promise<Response> } = {},
): ApiClient {
  return createClient<paths>({
    baseUrl: `${origin}/api/v1`,
    headers: { Authorization: `Bearer ${key}` },
    ...more,
  });
}
