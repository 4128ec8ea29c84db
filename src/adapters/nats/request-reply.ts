import type { Msg, NatsConnection } from 'nats';

const queueGroup = 'workers';

export type Answering = ReturnType<typeof answerRequests>;

/** The worker's side of request-reply: each request on a subject goes to one of the workers, and is answered with JSON. */
export function answerRequests(
  connection: NatsConnection,
  subject: string,
  answer: (request: unknown) => Promise<unknown>,
) {
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
    /** Takes no more requests. */
    stop: () => subscription.drain(),
    /** Fulfilled when all taken requests are answered. */
    answered: async () => {
      await Promise.all(underWay);
    },
  };
}
