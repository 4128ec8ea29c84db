import type { FastifyReply, FastifyRequest } from 'fastify';

/** The name of a request in answers, logs (`reqId`) and events (`$correlationId`). It is ours: what a client sends is not read. */
export const requestIdField = 'X-Request-Id';

/** @returns options of a server whose requests are named so */
export const ownRequestIds = (newUuid: () => string) => ({
  genReqId: () => newUuid(),
  requestIdHeader: false as const,
});

export function showRequestId({ id }: FastifyRequest, reply: FastifyReply): void {
  reply.header(requestIdField, id);
}
