import { once } from 'node:events';
import { constants, createServer } from 'node:http2';
import type { Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { status } from '@grpc/grpc-js';

/** An event store that knows nobody: every call is answered UNAUTHENTICATED, as a secured server answers a wrong password. */
export interface RefusingEventStore extends AsyncDisposable {
  url: string;
}

export async function startRefusingEventStore(): Promise<RefusingEventStore> {
  const sessions = new Set<Http2Session>();
  const server = createServer();
  server.on('session', (session) => sessions.add(session.on('error', () => undefined)));
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond(
      {
        [constants.HTTP2_HEADER_STATUS]: 200,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        'grpc-status': String(status.UNAUTHENTICATED),
        'grpc-message': 'Unauthenticated',
      },
      { endStream: true },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `esdb://nobody:wrong-password@127.0.0.1:${String((server.address() as AddressInfo).port)}?tls=false`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const session of sessions) session.destroy();
      await once(server, 'close');
    },
  };
}
