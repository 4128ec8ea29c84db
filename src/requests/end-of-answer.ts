import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Returns a signal that aborts once an answer or its connection has ended: a queued answer is not told of either.
 *
 * @param halfClosed `ends`: it aborts also once the client sends no more. It may still read, or be gone: only what is written
 *   to it shows which, so that what waits long before it writes must not wait on
 */
export function endOfAnswer(
  { raw: { socket } }: FastifyRequest,
  { raw: response }: FastifyReply,
  { halfClosed = 'goes_on' }: { halfClosed?: 'goes_on' | 'ends' } = {},
): AbortSignal {
  const ending = new AbortController();
  const end = () => {
    for (const event of ['close', 'end']) socket.off(event, end);
    ending.abort();
  };
  if (socket.destroyed || (halfClosed === 'ends' && socket.readableEnded)) end();
  response.once('close', end);
  socket.once('close', end);
  if (halfClosed === 'ends') socket.once('end', end);
  return ending.signal;
}
