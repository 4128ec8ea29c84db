import type { Msg, NatsConnection } from 'nats';

const queueGroup = 'workers';

export interface Answering {
  /** Takes no more questions. */
  stop(): Promise<void>;
  /** When those that it has taken are answered. */
  answered(): Promise<void>;
}

/** The worker's side of request-reply: each question on a subject goes to one of the workers, and is answered with JSON. */
export function answerRequests(
  connection: NatsConnection,
  subject: string,
  answer: (question: unknown) => Promise<unknown>,
): Answering {
  const underWay = new Set<Promise<void>>();
  const reply = async (message: Msg): Promise<void> => {
    message.respond(JSON.stringify(await answer(message.json())));
  };
  const subscription = connection.subscribe(subject, {
    queue: queueGroup,
    callback: (error, message) => {
      if (error) return;
      // A question that cannot be read, or answered, is left to the asker's time limit.
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
