import type { NatsConnection } from 'nats';
import { z } from 'zod';
import type { ShortLinkAnswer, ShortLinks } from '../../ports/videos.ts';
import { type Answering, answerRequests } from './request-reply.ts';

const subject = 'short-links';

/** Only the link: the worker parses it again, so that no message can make it request another address. */
const request = z.object({ url: z.string() });

const answer = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('found'), url: z.string() }),
  z.object({ outcome: z.enum(['unresolved', 'platform_failed', 'no_answer']) }),
]);

/** The API's side: sends a short link to any worker. */
export function createShortLinkClient(connection: NatsConnection, { timeoutMs }: { timeoutMs: number }): ShortLinks {
  return {
    lookUp: async ({ url }) => {
      try {
        const reply = await connection.request(subject, JSON.stringify({ url }), { timeout: timeoutMs });
        return answer.parse(reply.json());
      } catch {
        return { outcome: 'no_answer' };
      }
    },
  };
}

/** The worker's side. */
export function answerShortLinks(
  connection: NatsConnection,
  lookUp: (url: string) => Promise<ShortLinkAnswer>,
): Answering {
  return answerRequests(connection, subject, (message) => lookUp(request.parse(message).url));
}
