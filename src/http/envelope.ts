import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiError } from './errors.ts';

/** Contract §2.1: every response has this form. */
export function sendData(reply: FastifyReply, status: number, data: object): FastifyReply {
  return reply.code(status).send(dataEnvelope(data));
}

export const dataEnvelope = (data: object) => ({ success: true, data });

export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  return reply.code(error.status).send(errorBody(reply, error));
}

/** Sends an error for a request for which Fastify runs no hooks; bytes keep the media type unchanged. */
export function sendErrorWithoutHooks(reply: FastifyReply, error: ApiError): FastifyReply {
  const bytes = Buffer.from(JSON.stringify(errorBody(reply, error)));
  return reply.code(error.status).header('content-type', mediaType).send(bytes);
}

/** Without a charset, as in the contract. */
export const mediaType = 'application/json';

/** Contract §2.1: the form of an error. */
export const errorEnvelope = ({
  code,
  message,
  failure,
}: {
  code: string;
  message: string;
  failure?: ApiError['failure'];
}) => ({
  success: false,
  error: { code, message, ...failure },
});

/** Also notes the error's code for the observer of requests. */
function errorBody({ request }: FastifyReply, error: ApiError) {
  request.errorCode = error.code;
  return errorEnvelope(error);
}

export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}$/)
  .describe('An instant in UTC, `YYYY-MM-DD HH:MM:SS.mmm`.');

/** Ends a request without an answer, because any answer would be a guess. */
export function cutConnection(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  // The socket itself: Node has done with the request object once its body is read.
  request.raw.socket.destroy();
  return reply;
}
