import { once } from 'node:events';
import { createServer, type Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openAdapter } from '../../support/event-store-adapter.ts';
import { waitFor } from '../../support/wait-for.ts';

test('lets a server send a mebibyte before any of it is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sessions = once(server, 'session') as Promise<[Http2Session]>;
  openAdapter({ url: `esdb://127.0.0.1:${String(port)}?tls=false` });
  const [session] = await sessions;
  await waitFor(() => (session.state.remoteWindowSize ?? 0) >= 1024 * 1024, { what: 'the window' });
  expect(session.remoteSettings.initialWindowSize).toBe(1024 * 1024);
  session.destroy();
  server.close();
});
