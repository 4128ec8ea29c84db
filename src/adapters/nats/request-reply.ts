import type { Msg, NatsConnection } from 'nats';

const queueGroup = 'workers';

export interface Answering {
  /** Takes no more requests. */
  stop(): Promise<void>;
  /** Fulfilled when all taken requests are answered. */
  answered(): Promise<void>;
}

/** The worker's side of request-reply: each request on a subject goes to one of the workers, and is answered with JSON. */
export function answerRequests(
  connection: NatsConnection,
  subject: string,
  answer: (request: unknown) => Promise<unknown>,
): Answering {
  const underWay = new Set<Promise<void>>();
  const reply = async (message: Msg): Promise<void> => {
    message.respond(JSON.stringify(await answer(message.json())));
  };
  const subscription = connection.subscribe(subject, {
    queue: queueGroup,
    callback: (error, message) => {
      if (error) return;
      // A request that cannot be read or answered ends with the client's timeout.
      const replying = reply(message)
        .catch(() => undefined)
        .finally(() => underWay.delete(replying));
      underWay.add(replying);
    },
  });
  return {
    stop: () => subscription.drain(),
    answered: async () => {
      await Promise.all(underWay);
    },
  };
}
