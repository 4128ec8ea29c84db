import type { FastifyReply, FastifyRequest } from 'fastify';

/** Returns a signal that aborts once an answer or its connection has ended: a queued answer is not told of either. */
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
