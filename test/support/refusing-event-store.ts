import { constants, createServer } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { listen } from './listen.ts';

/** An event store that knows nobody: every call is answered UNAUTHENTICATED, as a secured server answers a wrong password. */
export interface RefusingEventStore extends AsyncDisposable {
  url: string;
}

export async function startRefusingEventStore(): Promise<RefusingEventStore> {
  const server = createServer();
  server.on('session', (session) => session.on('error', () => undefined));
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
  const { port, close } = await listen(server);
  return { url: `esdb://nobody:wrong-password@127.0.0.1:${port}?tls=false`, [Symbol.asyncDispose]: close };
}
