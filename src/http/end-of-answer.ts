import type { FastifyReply, FastifyRequest } from 'fastify';

/** Aborted once an answer has ended, or its connection: an answer that waits for its turn on one hears nothing of that. */
export function endOfAnswer({ raw: { socket } }: FastifyRequest, { raw: response }: FastifyReply): AbortSignal {
  const ending = new AbortController();
  const end = () => {
    socket.off('close', end);
    ending.abort();
  };
  if (socket.destroyed) end();
  response.once('close', end);
  socket.once('close', end);
  return ending.signal;
}
