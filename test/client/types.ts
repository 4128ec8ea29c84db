/**
 * Compiled by `npm run check` and never run: each marked line has to be refused by the compiler, which also complains about a
 * mark where nothing is refused.
 */
import { createApiClient } from '../../src/client/client.ts';

export async function rightCalls(origin: string, key: string): Promise<string[]> {
  const api = createApiClient(origin, key);
  const queued = await api.POST('/video/download', { body: { url: 'https://youtu.be/dQw4w9WgXcQ', quality: '720' } });
  if (queued.error) {
    const code: 'internal_error' | 'overage_cap_reached' | (string & {}) = queued.error.error.code;
    return [code, queued.error.error.message];
  }
  const token: string = queued.data.data.request_token;
  const { data } = await api.GET('/video/status', { params: { query: { token } } });
  // What a status brings depends on it.
  if (data?.data.status === 'done') return [data.data.download_url];
  if (data?.data.status === 'failed') return [data.data.error satisfies 'private_video' | (string & {})];
  // An event that is done has a link, unless its file is no longer there.
  for (const event of (await api.GET('/video/events')).data?.data.events ?? [])
    if (event.status === 'done' && !('error' in event)) return [event.download_url];
  await api.POST('/auth/key', { body: { label: 'build server' } });
  await api.POST('/auth/key');
  return [(await api.GET('/credits')).data?.data.plan ?? ''];
}

export async function wrongCalls(origin: string, key: string): Promise<void> {
  const api = createApiClient(origin, key);
  // @ts-expect-error There is no such path.
  await api.GET('/video/download');
  // @ts-expect-error The path takes another method.
  await api.POST('/credits');
  // @ts-expect-error The url is missing.
  await api.GET('/video/metadata');
  // @ts-expect-error The parameter has another name.
  await api.GET('/video/status', { params: { query: { request_token: 'x' } } });
  // @ts-expect-error A body is needed.
  await api.POST('/video/download');
  // @ts-expect-error The body needs a url.
  await api.POST('/video/download', { body: { quality: '720' } });
  // @ts-expect-error There is no such quality.
  await api.POST('/video/download', { body: { url: 'x', quality: '999' } });
  // @ts-expect-error A quality is a text.
  await api.POST('/video/download', { body: { url: 'x', quality: 720 } });
  const { data } = await api.GET('/video/status', { params: { query: { token: 'x' } } });
  // @ts-expect-error There is a link only once the download is done.
  if (data) console.log(data.data.download_url);
  // @ts-expect-error There is no such status.
  if (data?.data.status === 'finished') console.log('it is done');
}
