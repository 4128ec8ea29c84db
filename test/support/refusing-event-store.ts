import { constants, createServer } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { listen } from './listen.ts';

/** A secured server refuses a call because it does not know the user, or because the user may not do that. */
const refusals = {
  unauthenticated: { 'grpc-status': String(status.UNAUTHENTICATED), 'grpc-message': 'Unauthenticated' },
  'access denied': {
    'grpc-status': String(status.PERMISSION_DENIED),
    'grpc-message': 'Access Denied',
    exception: 'access-denied',
  },
};

const unimplemented = { 'grpc-status': String(status.UNIMPLEMENTED), 'grpc-message': 'Unimplemented' };

/** An event store that refuses every call. */
export interface RefusingEventStore extends AsyncDisposable {
  url: string;
}

export async function startRefusingEventStore(
  refusal: keyof typeof refusals = 'unauthenticated',
): Promise<RefusingEventStore> {
  const server = createServer();
  server.on('session', (session) => session.on('error', () => undefined));
  server.on('stream', (stream, { ':path': path }) => {
    stream.on('error', () => undefined);
    stream.respond(
      {
        [constants.HTTP2_HEADER_STATUS]: 200,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        // A user that it knows may ask for its features; this server answers none of that.
        ...(refusal === 'access denied' && path?.endsWith('GetSupportedMethods') ? unimplemented : refusals[refusal]),
      },
      { endStream: true },
    );
  });
  const { port, close } = await listen(server);
  return { url: `esdb://nobody:wrong-password@127.0.0.1:${port}?tls=false`, [Symbol.asyncDispose]: close };
}
