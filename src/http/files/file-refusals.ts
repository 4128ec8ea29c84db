import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from '../../documents/html.ts';
import { prefersPage, sendPage } from '../browser-page.ts';
import { errorEnvelope } from '../envelope.ts';

/** Answers in place of a file: code and message for programs, title and advice for people. */
export const fileRefusals = {
  403: {
    code: 'link_invalid',
    message: 'This link was not issued here.',
    title: 'This link does not work',
    advice:
      'It is incomplete, was changed, or does not come from here. Copy the whole link again, or ask for the status of the download again: each answer has a new link.',
  },
  404: {
    code: 'not_found',
    message: 'The file is no longer available.',
    title: 'This file is gone',
    advice: 'Files are kept for a limited time. Queue the download again to get a new one.',
  },
  405: {
    code: 'method_not_allowed',
    message: 'Files can only be read.',
    title: 'Files can only be read',
    advice: 'Open the link as it is.',
  },
  410: {
    code: 'link_expired',
    message: 'This link has expired; ask for the status of the download again.',
    title: 'This link has expired',
    advice:
      'Links work for an hour; the file may still be there. Ask for the status of the download again: each answer has a new link.',
  },
  412: {
    code: 'precondition_failed',
    message: 'The file is not the one that If-Match names.',
    title: 'This is another file',
    advice: 'The part that you have is from another file. Begin again from the start.',
  },
  416: {
    code: 'range_not_satisfiable',
    message: 'The file does not have the range that was asked for.',
    title: 'The file is shorter than that',
    advice: 'Begin again from the start of the file.',
  },
  429: {
    code: 'too_many_connections',
    message: 'Too many connections are reading this link, or files from your address.',
    title: 'Too many at a time',
    advice:
      'This link, or your network, already has as many connections as it may. Wait until one of them is done, and try again.',
  },
} as const;

export function refuse(request: FastifyRequest, reply: FastifyReply, status: keyof typeof fileRefusals): FastifyReply {
  const { code, message, title, advice } = fileRefusals[status];
  reply.removeHeader('Content-Disposition').code(status).header('Vary', 'Accept');
  if (prefersPage(request)) return sendPage(reply, { title, content: html`<p>${advice}</p>` });
  return reply.type('application/json; charset=utf-8').send(errorEnvelope({ code, message }));
}
